/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel log as different tools print it, and messages that the driver spreads over lines. */
#include "system/kernel_log.h"

#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

static const struct kernel_event *only(struct kernel_log *log, const char *text) {
    kernel_log_parse(text, log);
    if (log->count != 1)
        fail_msg("%zu events in: %s", log->count, text);
    return &log->items[0];
}

static void every_prefix_is_passed(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } rows[] = {
        {"NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.", -1},
        {"[ 1234.500000] NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.", 1234.5},
        {"<3>[    1.250000] NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.", 1.25},
        {"[Sat Jan 31 12:00:00 2026] NVRM: Xid (PCI:0000:41:00): 79, lost", -1},
        {"2026-01-31T12:00:00,123456+00:00 NVRM: Xid (PCI:0000:41:00): 79, lost", -1},
        {"Jan 31 12:00:00 node kernel: NVRM: Xid (PCI:0000:41:00): 79, lost", -1},
        {"Jan 31 12:00:00 node kernel: [   77.000000] NVRM: Xid (PCI:0000:41:00): 79, lost", 77},
        {"[    1.0] NVRM: Xid (0000:41:00): 79, lost\r", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kernel_log log;
        const struct kernel_event *event = only(&log, rows[i].text);
        assert_int_equal(event->kind, EVENT_XID);
        assert_int_equal(event->code, 79);
        assert_string_equal(event->bdf, "0000:41:00.0");
        assert_true(event->seconds > rows[i].seconds - 1e-9 && event->seconds < rows[i].seconds + 1e-9);
        kernel_log_free(&log);
    }
}

static void lines_of_one_message_are_joined(void **state) {
    (void)state;
    struct kernel_log log;
    kernel_log_parse("[ 9.0] NVRM: The NVIDIA GPU 0000:b3:00.0\n"
                     "[ 9.0] NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
                     "[ 9.0] usb 1-1: new device\n" /* another device's line between */
                     "[ 9.0] NVRM: fallen off the bus and is not responding to commands.\n"
                     "[ 9.1] NVRM: The NVIDIA probe routine failed for 1 device(s).\n"
                     "[ 9.2] NVRM: API mismatch: the client has the version 515.48.07, but\n"
                     "[ 9.2] NVRM: this kernel module has the version 510.73.05.  Please\n"
                     "[ 9.2] NVRM: make sure that this kernel module and all NVIDIA driver\n",
                     &log);
    assert_int_equal(log.count, 2);
    assert_int_equal(log.items[0].kind, EVENT_FALLEN_OFF);
    assert_string_equal(log.items[0].bdf, "0000:b3:00.0");
    assert_non_null(strstr(log.items[0].text, "installed in this system has fallen off the bus"));
    assert_int_equal(log.items[1].kind, EVENT_API_MISMATCH);
    assert_string_equal(log.items[1].first, "515.48.07");
    assert_string_equal(log.items[1].second, "510.73.05");
    kernel_log_free(&log);
}

/* The first half of a message is no message: two halves of different ones are not put together. */
static void halves_of_two_messages_are_not(void **state) {
    (void)state;
    struct kernel_log log;
    kernel_log_parse("NVRM: The NVIDIA GPU 0000:b3:00.0\n"
                     "NVRM: Xid (PCI:0000:41:00): 13, pid=7\n"
                     "NVRM: fallen off the bus and is not responding to commands.\n",
                     &log);
    assert_int_equal(kernel_log_count(&log, EVENT_FALLEN_OFF, "0000:b3:00.0", -1), 0);
    assert_int_equal(kernel_log_count(&log, EVENT_XID, "0000:41:00.0", 13), 1);
    kernel_log_free(&log);
}

static void each_kind_has_its_parts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum kernel_event_kind kind;
        const char *bdf, *first, *second;
        int code;
    } rows[] = {
        {"NVRM: Xid: 154, GPU recovery action changed to 0x2 (Node Reboot Required)", EVENT_XID, "", NULL,
         NULL, 154},
        {"NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x1a:2631)", EVENT_INIT_FAILED, "0000:01:00.0",
         "(0x62:0x1a:2631)", NULL, -1},
        {"nvidia 0000:01:00.0: Direct firmware load for nvidia/550.76/gsp_ga10x.bin failed with error -2",
         EVENT_NO_FIRMWARE, "0000:01:00.0", "nvidia/550.76/gsp_ga10x.bin", NULL, 2},
        {"NVRM: RmFetchGspRmImages: No firmware image found", EVENT_NO_FIRMWARE, "", "", NULL, -1},
        {"__vm_enough_memory: pid 4711, comm: nvc:[driver], bytes: 8589934592 not enough memory for the allocation",
         EVENT_NO_COMMIT, "", "nvc:[driver]", NULL, 8192},
        {"nv-fabricmanager: fabric manager NVIDIA GPU driver interface version 530.30.02 don't match with driver version "
         "530.41.03. Please update",
         EVENT_FABRIC_VERSION, "", "530.30.02", "530.41.03", -1},
        {"pcieport 0000:00:1b.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)",
         EVENT_AER, "0000:00:1b.0", "Correctable", NULL, -1},
        {"nvidia 0000:09:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0010 address=0xfe flags=0x0000]",
         EVENT_IO_PAGE_FAULT, "0000:09:00.0", NULL, NULL, -1},
        {"DMAR: [DMA Read NO_PASID] Request device [61:00.0] fault addr 0xfe00 [fault reason 0x06]",
         EVENT_IO_PAGE_FAULT, "0000:61:00.0", NULL, NULL, -1},
        {"DMAR: [DMA Write] Request device [0x61:0x00.1] fault addr fe00", EVENT_IO_PAGE_FAULT,
         "0000:61:00.1", NULL, NULL, -1},
        {"nvidia 0000:84:00.0: BAR 1 [mem size 0x800000000 64bit pref]: can't assign; no space",
         EVENT_BAR_NO_SPACE, "0000:84:00.0", NULL, NULL, 1},
        {"nouveau 0000:01:00.0: NVIDIA GM204 (124000a1)", EVENT_NOUVEAU, "0000:01:00.0", NULL, NULL, -1},
        {"PM: suspend exit", EVENT_RESUMED, "", NULL, NULL, -1},
        {"nvidia-uvm: Loaded the UVM driver, major device number 509.", EVENT_UVM_LOADED, "", NULL, NULL, -1},
        {"Loading of module with unavailable key is rejected", EVENT_MODULE_REJECTED, "", NULL, NULL, -1},
        {"nvidia: version magic '6.8.12-4-pve SMP' should be '6.8.12-9-pve SMP'", EVENT_MODULE_MISFIT, "",
         NULL, NULL, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kernel_log log;
        const struct kernel_event *event = only(&log, rows[i].text);
        assert_int_equal(event->kind, rows[i].kind);
        assert_string_equal(event->bdf, rows[i].bdf);
        assert_int_equal(event->code, rows[i].code);
        assert_string_equal(event->first == NULL ? "-" : event->first,
                            rows[i].first == NULL ? "-" : rows[i].first);
        assert_string_equal(event->second == NULL ? "-" : event->second,
                            rows[i].second == NULL ? "-" : rows[i].second);
        kernel_log_free(&log);
    }
}

static void what_only_looks_alike_is_no_event(void **state) {
    (void)state;
    static const char *const lines[] = {
        "PM: suspend entry (deep)",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.04",
        "NVRM: Xid",
        "NVRM: Xid (PCI:0000:41:00",
        "nvidia 0000:01:00.0: enabling device (0000 -> 0003)",
        "iwlwifi 0000:00:14.3: Direct firmware load for iwlwifi-90.ucode failed with error -2",
        "usb 1-1: device descriptor read/64, error -71",
        "",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct kernel_log log;
        kernel_log_parse(lines[i], &log);
        if (log.count != 0)
            fail_msg("an event in: %s", lines[i]);
        assert_true(log.known);
        kernel_log_free(&log);
    }
}

static void the_last_of_a_device(void **state) {
    (void)state;
    struct kernel_log log;
    kernel_log_parse("[1.0] NVRM: Xid (PCI:0000:41:00): 48, a\n[2.0] NVRM: Xid (PCI:0000:61:00): 63, b\n"
                     "[3.0] NVRM: Xid (PCI:0000:41:00): 94, c\n",
                     &log);
    assert_int_equal(kernel_log_last(&log, EVENT_XID, "0000:41:00.0")->code, 94);
    assert_int_equal(kernel_log_last(&log, EVENT_XID, NULL)->code, 94);
    assert_int_equal(kernel_log_last(&log, EVENT_XID, "0000:61:00.0")->code, 63);
    assert_null(kernel_log_last(&log, EVENT_XID, "0000:81:00.0"));
    assert_int_equal(kernel_log_count(&log, EVENT_XID, "0000:41:00.0", -1), 2);
    assert_int_equal(kernel_log_count(&log, EVENT_XID, NULL, 63), 1);
    kernel_log_free(&log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_is_passed),
        cmocka_unit_test(lines_of_one_message_are_joined),
        cmocka_unit_test(halves_of_two_messages_are_not),
        cmocka_unit_test(each_kind_has_its_parts),
        cmocka_unit_test(what_only_looks_alike_is_no_event),
        cmocka_unit_test(the_last_of_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
