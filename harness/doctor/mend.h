/* SPDX-License-Identifier: Apache-2.0 */
/* What to change in an LXC configuration so that CUDA gets in, and only what is proven: a number is replaced
 * where the baseline gives it to this driver (or it is the driver's number in hex, or its name); a rule that
 * merely names nobody's or somebody else's number stays, and the needed rule is added. A pure function of the
 * scene, like the rules; the edit itself is mend_text.h, the file mend_file.h. */
#ifndef GPUVET_DOCTOR_MEND_H
#define GPUVET_DOCTOR_MEND_H

#include "doctor/mend_text.h"
#include "doctor/scene.h"

struct mend_plan {
    const struct container *container; /* borrowed */
    enum mend_format format;
    bool wants_gpu;
    struct mend_edits edits;
    struct strings files;   /* that the edits are in, each once */
    struct strings changes; /* one line each: what is changed, and what proves it */
    struct strings stays;   /* what looks wrong and stays, and why */
    struct strings notes;   /* who else reads these files */
    struct strings lasting; /* lines of the way after which no number stands in a file */
    struct strings restart; /* commands */
    bool enough;            /* after the edits the configuration lets CUDA's devices in */
};

/* Borrows both. Without edits there is nothing to be done. Release with mend_plan_free. */
void mend_plan_make(const struct scene *scene, const struct container *container, struct mend_plan *out);
void mend_plan_free(struct mend_plan *plan);

/* The LXC container of this name, Proxmox's first; NULL with `near` the nearest name (NULL: none near). Both
 * borrowed. */
const struct container *mend_find(const struct container_list *list, const char *name, const char **near);

#endif
