/* SPDX-License-Identifier: Apache-2.0 */
/* LXC's configuration: Proxmox's form and the plain one. */
#include "unit/tree.h"

#include "base/mem.h"
#include "system/containers.h"

#include <stdlib.h>
#include <string.h>

struct made {
    struct container_list list;
    struct source source;
};

static struct container *parse(struct made *made, enum container_kind kind, const char *text) {
    *made = (struct made){.list = {mem_zeroed(1, sizeof(struct container)), 1, 1}, .source = {.root = "."}};
    struct container *c = made->list.items;
    c->kind = kind;
    c->denies_first = kind == CONTAINER_PVE;
    container_parse_lxc(&made->source, "/etc/pve/lxc/129.conf", text, c);
    return c;
}

static void reads_rules(void **state) {
    (void)state;
    static const struct {
        const char *line;
        bool allow;
        char type;
        int major, minor, cgroup;
        bool use;
        const char *major_text;
    } rows[] = {
        {"lxc.cgroup2.devices.allow: c 195:* rwm", true, 'c', 195, -1, 2, true, "195"},
        {"lxc.cgroup2.devices.allow = c 509:0 rw", true, 'c', 509, 0, 2, true, "509"},
        {"lxc.cgroup.devices.deny:c\t195:7   r", false, 'c', 195, 7, 1, false, "195"},
        {"lxc.cgroup2.devices.allow: c 1fd:* rwm", true, 'c', -2, -1, 2, true, "1fd"},
        {"lxc.cgroup2.devices.allow: c 0x1fd:* rwm", true, 'c', -2, -1, 2, true, "0x1fd"},
        {"lxc.cgroup2.devices.allow: a", true, 'a', -1, -1, 2, true, ""},
        {"lxc.cgroup.devices.deny: a", false, 'a', -1, -1, 1, true, ""},
        {"lxc.cgroup2.devices.allow: b 8:0 rwm", true, 'b', 8, 0, 2, true, "8"},
        {"lxc.cgroup2.devices.allow: c 195", true, 'c', 195, -2, 2, false, "195"},
        {"lxc.cgroup2.devices.allow:", true, '?', -2, -2, 2, false, ""},
        {"lxc.cgroup2.devices.allow: cc 1:2 rwm", true, '?', 1, 2, 2, true, "1"},
        {"lxc.cgroup2.devices.allow: c 99999999:1 rwm", true, 'c', -2, 1, 2, true, "99999999"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made made;
        const struct container *c = parse(&made, CONTAINER_PVE, rows[i].line);
        assert_int_equal(c->n_rules, 1);
        const struct device_rule *r = &c->rules[0];
        assert_int_equal(r->allow, rows[i].allow);
        assert_int_equal(r->type, rows[i].type);
        assert_int_equal(r->major, rows[i].major);
        assert_int_equal(r->minor, rows[i].minor);
        assert_int_equal(r->cgroup, rows[i].cgroup);
        assert_int_equal(r->use, rows[i].use);
        assert_string_equal(r->major_text, rows[i].major_text);
        assert_int_equal(r->line, 1);
        containers_free(&made.list);
    }
}

static void reads_nodes(void **state) {
    (void)state;
    struct made made;
    const struct container *c =
        parse(&made, CONTAINER_PVE,
              "arch: amd64\n"
              "dev0: /dev/nvidia0,gid=44\n"
              "dev12: gid=44,path=/dev/nvidia-uvm\n"
              "device: /dev/no\n"
              "dev1: etc/passwd\n"
              "lxc.mount.entry: /dev/nvidiactl dev/nvidiactl none bind,optional,create=file\n"
              "lxc.mount.entry: /srv/data data none bind\n"
              "lxc.mount.entry: /dev/dri dev/dri none bind,create=dir\n"
              "unprivileged: 1\n");
    assert_int_equal(c->n_devices, 4);
    assert_string_equal(c->devices[0].host_path, "/dev/nvidia0");
    assert_int_equal(c->devices[0].line, 2);
    assert_true(c->devices[0].by_manager);
    assert_string_equal(c->devices[1].host_path, "/dev/nvidia-uvm");
    assert_string_equal(c->devices[2].host_path, "/dev/nvidiactl");
    assert_true(c->devices[2].creates_file);
    assert_false(c->devices[2].by_manager);
    assert_false(c->devices[3].creates_file);
    assert_true(c->unprivileged);
    assert_non_null(container_device(c, "/dev/nvidia0"));
    assert_null(container_device(c, "/dev/no"));
    containers_free(&made.list);

    /* What Proxmox makes of dev0 plain LXC does not know. */
    c = parse(&made, CONTAINER_LXC, "dev0 = /dev/nvidia0\nlxc.idmap = u 0 100000 65536\n");
    assert_int_equal(c->n_devices, 0);
    assert_true(c->unprivileged);
    containers_free(&made.list);
}

/* A snapshot's lines are not the container's; with plain LXC brackets mean nothing. */
static void ends_at_a_section(void **state) {
    (void)state;
    static const char text[] = "# lxc.cgroup2.devices.allow: c 1:1 rwm\n"
                               "lxc.cgroup2.devices.allow: c 195:* rwm\n"
                               "[before-upgrade]\n"
                               "lxc.cgroup2.devices.allow: c 508:* rwm\n";
    static const char plain[] = "lxc.cgroup2.devices.allow = c 195:* rwm\n"
                                "[before-upgrade]\n"
                                "lxc.cgroup2.devices.allow = c 508:* rwm\n";
    struct made made;
    const struct container *c = parse(&made, CONTAINER_PVE, text);
    assert_int_equal(c->n_rules, 1);
    assert_int_equal(c->rules[0].line, 2);
    assert_int_equal(c->comments.count, 1);
    containers_free(&made.list);
    c = parse(&made, CONTAINER_LXC, plain);
    assert_int_equal(c->n_rules, 2);
    containers_free(&made.list);
}

static void allows_what_the_last_rule_says(void **state) {
    (void)state;
    struct made made;
    const struct container *c = parse(&made, CONTAINER_PVE,
                                      "lxc.cgroup2.devices.allow: c 195:* rwm\n"
                                      "lxc.cgroup2.devices.deny: c 195:3 rwm\n"
                                      "lxc.cgroup.devices.allow: c 509:* rwm\n"
                                      "lxc.cgroup2.devices.allow: c 510:* m\n");
    assert_true(container_allows(c, 2, 195, 0));
    assert_false(container_allows(c, 2, 195, 3));
    assert_false(container_allows(c, 1, 195, 0));
    assert_true(container_allows(c, 0, 509, 0));
    assert_false(container_allows(c, 2, 509, 0));
    assert_false(container_allows(c, 2, 510, 0)); /* mknod alone opens nothing */
    containers_free(&made.list);
    c = parse(&made, CONTAINER_LXC, "lxc.cgroup2.devices.deny = a\nlxc.cgroup2.devices.allow = c *:* rwm\n");
    assert_true(container_allows(c, 2, 1, 1));
    containers_free(&made.list);
    c = parse(&made, CONTAINER_LXC, "");
    assert_true(container_allows(c, 2, 1, 1)); /* plain LXC without a rule bounds nothing */
    containers_free(&made.list);
}

static void follows_includes(void **state) {
    (void)state;
    tree_put("inc/a.conf", "lxc.cgroup2.devices.allow = c 195:* rwm\nlxc.include = /inc/more\n");
    tree_put("inc/more/b.conf", "\nlxc.cgroup2.devices.allow = c 509:* rwm\n");
    tree_put("inc/more/readme", "lxc.cgroup2.devices.allow = c 1:1 rwm\n");
    struct made made;
    const struct container *c = parse(&made, CONTAINER_LXC,
                                      "lxc.include = /inc/a.conf\nlxc.include = /nowhere\n"
                                      "lxc.include = inc/a.conf\nlxc.cgroup2.devices.allow = c 7:7 rwm\n");
    assert_int_equal(c->n_rules, 3);
    assert_string_equal(c->rules[1].file, "/inc/more/b.conf");
    assert_int_equal(c->rules[1].line, 2);
    assert_string_equal(c->rules[2].file, "/etc/pve/lxc/129.conf");
    assert_int_equal(c->rules[2].line, 4);
    containers_free(&made.list);
}

/* Two files of many lines that include each other: bounded, whatever they say. */
static void ends_with_circles(void **state) {
    (void)state;
    struct text text = {0};
    for (int i = 0; i < 50; i++)
        text_add(&text, "lxc.include = /inc/b.conf\nlxc.include = /inc/c.conf\n"
                        "lxc.cgroup2.devices.allow = c 195:* rwm\n");
    tree_put("inc/b.conf", text_string(&text));
    tree_put("inc/c.conf", text_string(&text));
    struct made made;
    const struct container *c = parse(&made, CONTAINER_LXC, "lxc.include = /inc/b.conf\n");
    assert_true(c->n_rules > 0 && c->n_rules <= 65 * 50);
    containers_free(&made.list);
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_rules),       cmocka_unit_test(reads_nodes),
        cmocka_unit_test(ends_at_a_section), cmocka_unit_test(allows_what_the_last_rule_says),
        cmocka_unit_test(follows_includes),  cmocka_unit_test(ends_with_circles),
    };
    return cmocka_run_group_tests(tests, tree_enter, tree_leave);
}
