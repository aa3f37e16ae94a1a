/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small captures, read and judged, in memory: the input's form is told in memory_fs.h. */
#define FUZZ_CORPUS "capture"
#define FUZZ_MUTATIONS 24
#include "doctor/doctor.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory_fs.h"

static void judge(const struct source *source, struct error *err) {
    struct device_nodes nodes = {0};
    struct facts *facts = facts_read(source, err);
    js *stable = js_new_object();
    js *moving = js_new_object();
    facts_environment(facts, stable, moving);
    if (device_nodes_read(source, &nodes, err)) {
        struct scene scene;
        struct findings findings;
        FILE *nowhere = fopen("/dev/null", "w");
        scene_make(source, facts, &nodes, stable, &scene);
        doctor_judge(&scene, &findings);
        js_free(findings_to_json(&findings, &scene));
        if (nowhere != NULL) {
            findings_print(&findings, &scene, false, true, nowhere);
            fclose(nowhere);
        }
        findings_free(&findings);
        scene_free(&scene);
    }
    js_free(stable);
    js_free(moving);
    device_nodes_free(&nodes);
    facts_free(facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct source source;
    struct error err = {0};
    memory_unpack((const char *)data, (const char *)data + size);
    if (source_capture(MEMORY_ROOT, &source, &err)) {
        judge(&source, &err);
        source_free(&source);
    } else if (err.text[0] == '\0') {
        abort(); /* a refusal must say why */
    }
    memory_end();
    return 0;
}
