/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/unit.h"

#include "base/files.h"
#include "base/text.h"
#include "bench/host_idle.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- counters ---- */

static void put(const char *root, int cpu, int state, const char *file, const char *value) {
    struct text path = {0};
    struct error err = {0};
    text_addf(&path, "%s/sys/devices/system/cpu/cpu%d/cpuidle/state%d", root, cpu, state);
    assert_true(folder_make(path.data, &err));
    text_addf(&path, "/%s", file);
    assert_true(file_replace(path.data, value, strlen(value), &err));
    text_free(&path);
}

static void reads_counters(void **state) {
    (void)state;
    char root[] = "/tmp/gpuvet-idle-XXXXXX";
    struct idle_count before[IDLE_MAX_STATES], after[IDLE_MAX_STATES];
    assert_non_null(mkdtemp(root));
    assert_int_equal(idle_read(root, 3, before), 0);
    assert_int_equal(idle_read(root, -1, before), 0);
    put(root, 3, 0, "name", "POLL\n");
    put(root, 3, 0, "usage", "10\n");
    put(root, 3, 1, "name", "C2\n");
    put(root, 3, 1, "usage", "100\n");
    put(root, 3, 1, "time", "5000\n");
    put(root, 3, 1, "above", "7\n");
    put(root, 3, 1, "below", "garbage\n");
    put(root, 4, 0, "name", "OTHER\n");
    assert_int_equal(idle_read(root, 3, before), 2);
    put(root, 3, 1, "usage", "1100\n");
    put(root, 3, 1, "time", "905000\n");
    assert_int_equal(idle_read(root, 3, after), 2);

    js *extra = js_new_object();
    idle_record(extra, before, after, 2);
    const js *c2 = js_get(js_get(extra, "idle_states"), "C2");
    assert_int_equal(js_get_int(c2, "usage", -1), 1000);
    assert_int_equal(js_get_int(c2, "time_us", -1), 900000);
    assert_int_equal(js_get_int(c2, "above", -1), 0);
    assert_null(js_get(c2, "below")); /* what cannot be read is not 0 */
    assert_int_equal(js_get_int(js_get(js_get(extra, "idle_states"), "POLL"), "usage", -1), 0);
    idle_record(extra, before, after, 0);
    assert_string_equal(js_get_string(extra, "idle_states", ""), "not visible");
    js_free(extra);

    struct text command = {0};
    text_addf(&command, "rm -rf '%s'", root);
    assert_int_equal(system(command.data), 0);
    text_free(&command);
}

/* ---- bounds ---- */

static struct node begin(void) {
    return (struct node){.environment = js_new_object(), .moving = js_new_object()};
}

static void end(struct node *node) {
    js_free(node->environment);
    js_free(node->moving);
}

static void below_the_second_state(void **state) {
    (void)state;
    struct node amd = begin();
    assert_int_equal(idle_first_state_bound(&amd), -1);
    js_set_int(amd.environment, "idle.state.POLL.latency_us", 0);
    js_set_int(amd.environment, "idle.state.C1.latency_us", 1);
    assert_int_equal(idle_first_state_bound(&amd), -1); /* nothing below it to hold off */
    js_set_int(amd.environment, "idle.state.C2.latency_us", 100);
    js_set_string(amd.environment, "idle.state.C2.disabled", "0");
    assert_int_equal(idle_first_state_bound(&amd), 99);
    end(&amd);
    struct node intel = begin(); /* in any order */
    js_set_int(intel.environment, "idle.state.C6.latency_us", 190);
    js_set_int(intel.environment, "idle.state.C1E.latency_us", 4);
    js_set_int(intel.environment, "idle.state.C1.latency_us", 1);
    assert_int_equal(idle_first_state_bound(&intel), 3);
    js_set_string(intel.environment, "idle.state.C1.latency_us", "unknown");
    js_set_number(intel.environment, "idle.state.C9.latency_us", 1e300);
    assert_int_equal(idle_first_state_bound(&intel), 189); /* of those that are known */
    end(&intel);
}

static void says_why_there_is_no_control(void **state) {
    (void)state;
    struct node node = begin();
    assert_non_null(strstr(idle_no_control(&node), "cpuidle"));
    js_set_string(node.environment, "idle.driver", "none");
    assert_non_null(strstr(idle_no_control(&node), "cpuidle"));
    js_set_string(node.environment, "idle.driver", "acpi_idle");
    assert_non_null(strstr(idle_no_control(&node), "not to be seen"));
    js_set_string(node.environment, "pm_qos.cpu_latency_us", "needs root");
    assert_non_null(strstr(idle_no_control(&node), "root"));
    js_set_int(node.environment, "pm_qos.cpu_latency_us", 2000000000);
    assert_null(idle_no_control(&node));
    end(&node);
}

/* A bound that another process would not see is none: the kernel's own reading proves it. */
static void holds_and_releases(void **state) {
    (void)state;
    struct error err = {0};
    int fd = -1;
    int64_t before = idle_bound();
    if (before < 0 || access("/dev/cpu_dma_latency", W_OK) != 0)
        skip_because("holding a PM-QoS bound needs root and /dev/cpu_dma_latency");
    if (before < 10)
        skip_because("somebody holds a tighter PM-QoS bound already");
    if (!idle_hold(7, &fd, &err))
        fail_msg("%s", err.text);
    assert_int_equal(idle_bound(), 7);
    idle_release(fd);
    assert_int_equal(idle_bound(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_counters),
        cmocka_unit_test(below_the_second_state),
        cmocka_unit_test(says_why_there_is_no_control),
        cmocka_unit_test(holds_and_releases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
