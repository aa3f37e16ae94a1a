/* SPDX-License-Identifier: Apache-2.0 */
/* LXC's configuration, plain and Proxmox's ('p' in front), with includes: of a file, of a folder, of itself.
 */
#define FUZZ_CORPUS "lxc"
#include "fuzz/fuzz.h"
#include "system/containers.h"

static void make_includes(void) {
    static const char file[] = "lxc.cgroup2.devices.allow = c 195:* rwm\nlxc.include = /a.conf\n"
                               "lxc.include = /folder\n";
    fuzz_put("a.conf", file, sizeof file - 1);
    fuzz_put("folder/b.conf", file, sizeof file - 1);
    fuzz_put("folder/c.conf", "dev0: /dev/nvidia0\n[x]\n", 24);
    fuzz_put("folder/other", file, sizeof file - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (fuzz_folder[0] == '\0')
        make_includes();
    bool pve = size > 0 && data[0] == 'p';
    char *text = mem_copy_bytes((const char *)data, size);
    struct source source = {.root = fuzz_folder};
    struct container_list list = {mem_zeroed(1, sizeof(struct container)), 1, 1};
    struct container *c = &list.items[0];
    c->kind = pve ? CONTAINER_PVE : CONTAINER_LXC;
    c->denies_first = pve;
    c->name = mem_copy_string("129");
    container_parse_lxc(&source, "/etc/pve/lxc/129.conf", pve ? text + 1 : text, c);
    for (size_t i = 0; i < c->n_rules; i++) {
        const struct device_rule *r = &c->rules[i];
        if (r->file == NULL || r->key == NULL || r->text == NULL || r->major_text == NULL || r->line < 1 ||
            r->major < -2 || r->minor < -2)
            abort();
        (void)container_allows(c, r->cgroup, r->major, r->minor);
    }
    (void)container_allows(c, 0, 195, 0);
    (void)container_device(c, "/dev/nvidia0");
    containers_free(&list);
    free(text);
    return 0;
}
