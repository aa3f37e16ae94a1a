/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a mended configuration in the place of the old one: whole or not at all, with a copy of the old one
 * kept elsewhere, and only when it is still what was read. */
#ifndef GPUVET_DOCTOR_MEND_FILE_H
#define GPUVET_DOCTOR_MEND_FILE_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum { MEND_FILE_LARGEST = 256 * 1024 }; /* more is not read of a configuration at all */

/* Locks that keep others from writing: Proxmox's own of a container, or gpuvet's. */
struct mend_lock {
    int fd; /* -1: none */
};
/* Proxmox's lock of container `name` (what pct holds while it writes); waits up to `seconds`. */
bool mend_lock_proxmox(const char *name, double seconds, struct mend_lock *out, struct error *err);
void mend_lock_release(struct mend_lock *lock);

/* A file as it was read, and what is to become of it. Texts borrowed. */
struct mend_file {
    const char *path;
    const struct text *before, *after;
    char *backup; /* where the old one was kept; owned, by mend_file_free */
};

/* Reads what is to be edited. Of links only /etc/pve/lxc itself is followed; what is no regular file, or has
 * another name beside (hard links), is refused. */
bool mend_file_read(const char *path, struct text *out, struct error *err);
/* Whether the file still holds `before`, and may be replaced; nothing is changed. */
bool mend_file_check(const struct mend_file *file, struct error *err);
/* Copies the old one into `backups`, writes the new one beside it, syncs and renames: mode, owner and
 * attributes stay where the file system has them (Proxmox's cluster file system has not). */
bool mend_file_replace(struct mend_file *file, const char *backups, struct error *err);
void mend_file_free(struct mend_file *file);

#endif
