/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the family p2p (doctor/rules_p2p.c): what the kernel log, displays and a run tell. */
#ifndef GPUVET_DOCTOR_P2P_CHECKS_H
#define GPUVET_DOCTOR_P2P_CHECKS_H

#include "doctor/doctor.h"

void p2p_check_no_space(const struct scene *scene, struct findings *out);
void p2p_check_display(const struct scene *scene, struct findings *out);
void p2p_check_proof(const struct scene *scene, struct findings *out);
void p2p_check_wedged(const struct scene *scene, struct findings *out);

#endif
