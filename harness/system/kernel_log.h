/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel log of this boot, and what in it concerns GPUs: one event a message, with messages that the
 * driver spreads over lines joined again. */
#ifndef GPUVET_SYSTEM_KERNEL_LOG_H
#define GPUVET_SYSTEM_KERNEL_LOG_H

#include "base/text.h"
#include "system/facts.h"

#include <stdbool.h>
#include <stddef.h>

enum kernel_event_kind {
    EVENT_XID,             /* code: the Xid */
    EVENT_FALLEN_OFF,      /* "has fallen off the bus" without an Xid */
    EVENT_API_MISMATCH,    /* first: the client's version, second: the module's */
    EVENT_OPEN_REQUIRED,   /* the GPU wants the open kernel modules */
    EVENT_UNSUPPORTED,     /* this driver does not know the GPU, or no longer */
    EVENT_INIT_FAILED,     /* RmInitAdapter failed; first: its codes */
    EVENT_NO_FIRMWARE,     /* first: the file ("nvidia/550.76/gsp_ga10x.bin", "" unknown), code: the error */
    EVENT_MODULE_REJECTED, /* its signature is missing or not trusted */
    EVENT_MODULE_MISFIT,   /* another kernel's: version magic, symbols */
    EVENT_UVM_LOADED,      /* nvidia-uvm was loaded */
    EVENT_RESUMED,         /* the machine woke up */
    EVENT_NO_COMMIT,       /* __vm_enough_memory; first: the command, code: MiB */
    EVENT_FABRIC_VERSION,  /* first: the fabric manager's version, second: the driver's */
    EVENT_NOUVEAU,         /* nouveau took the device */
    EVENT_AER,             /* a PCIe error; first: "Correctable", "Uncorrectable (Fatal)" … */
    EVENT_IO_PAGE_FAULT,   /* the IOMMU refused an access of the device */
    EVENT_BAR_NO_SPACE,    /* a BAR could not be assigned; code: its number */
};

struct kernel_event {
    enum kernel_event_kind kind;
    double seconds;       /* since boot; -1 unknown */
    char bdf[20];         /* "0000:03:00.0"; "" unknown */
    int code;             /* -1: none */
    char *first, *second; /* as the kind says; NULL: none */
    char *text;           /* the message, joined, without its time */
};

struct kernel_log {
    struct kernel_event *items; /* in the order of the log */
    size_t count, capacity;
    bool known; /* false: nobody could read it */
};

/* As dmesg prints it, with or without times and levels, and as journalctl -k does; hostile. At most so many
 * events: the first ones of a log that is full of them. */
void kernel_log_parse(const char *text, struct kernel_log *out);
/* This machine's, in dmesg's form, by /dev/kmsg or syslog(2), without waiting; false where neither may be
 * read. */
bool kernel_log_live(struct text *out);
/* Either, by the source. */
void kernel_log_read(const struct source *source, struct kernel_log *out);
void kernel_log_free(struct kernel_log *log);

/* The last event of a kind, of one device or (NULL) any; NULL: none. */
const struct kernel_event *kernel_log_last(const struct kernel_log *log, enum kernel_event_kind kind,
                                           const char *bdf);
/* How many of a kind, of one device or (NULL) any, with one code or (-1) any. */
size_t kernel_log_count(const struct kernel_log *log, enum kernel_event_kind kind, const char *bdf, int code);

#endif
