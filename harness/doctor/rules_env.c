/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment of a program hides from it: CUDA_VISIBLE_DEVICES, and the multi-process service. */
#include "doctor/access.h"
#include "doctor/versions.h"
#include "system/look.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- CUDA_VISIBLE_DEVICES ---- */

struct token {
    char text[80];       /* trimmed, as much as is worth showing */
    int index;           /* of the GPU that it names; -1: not known */
    const char *problem; /* NULL: it is good, or nothing shows that it is not */
};

/* A full UUID or a unique beginning of one. */
static void judge_uuid(const struct scene *scene, struct token *token) {
    const js *gpus = js_get(scene->probes, "gpus");
    size_t matches = 0;
    for (size_t i = 0; i < js_length(gpus); i++)
        if (strncasecmp(js_get_string(js_at(gpus, i), "uuid", ""), token->text, strlen(token->text)) == 0) {
            token->index = (int)i;
            matches++;
        }
    if (js_length(gpus) == 0)
        return;
    if (matches != 1) {
        token->problem = matches == 0 ? "no GPU here has this UUID" : "more than one GPU's UUID begins so";
        token->index = -1;
    }
}

static bool has_mig(const struct scene *scene) {
    const js *gpus = js_get(scene->probes, "gpus");
    for (size_t i = 0; i < js_length(gpus); i++)
        if (js_get_bool(js_at(gpus, i), "mig", false))
            return true;
    return !js_is_array(gpus);
}

static void judge_number(const struct scene *scene, struct token *token) {
    char *end = NULL;
    long value = strtol(token->text, &end, 10);
    int count = versions_nvml_count(scene);
    if (end == token->text || *end != '\0')
        token->problem = "neither a number nor a UUID";
    else if (value < 0)
        token->problem = "a negative number ends the list";
    else if (count >= 0 && value >= count)
        token->problem = "no GPU here has this index";
    else
        token->index = (int)(value < 4096 ? value : 4095);
}

static void judge_token(const struct scene *scene, struct token *token) {
    token->index = -1;
    if (text_starts(token->text, "GPU-"))
        judge_uuid(scene, token);
    else if (text_starts(token->text, "MIG-"))
        token->problem = has_mig(scene) ? NULL : "no GPU here has MIG on";
    else if (strcmp(token->text, "all") == 0)
        token->problem = "all is a word of NVIDIA_VISIBLE_DEVICES; here it is no GPU";
    else if (token->text[0] == '\0')
        token->problem = "empty";
    else
        judge_number(scene, token);
}

/* Tokens up to and with the first bad one. */
static size_t parse_list(const struct scene *scene, const char *value, struct token *tokens,
                         size_t capacity) {
    struct strings parts = {0};
    size_t count = 0;
    strings_split(&parts, value, ',');
    for (size_t i = 0; i < parts.count && count < capacity; i++) {
        struct token *token = &tokens[count++];
        *token = (struct token){0};
        snprintf(token->text, sizeof token->text, "%.70s", text_trim(parts.items[i]));
        judge_token(scene, token);
        for (size_t k = 0; k + 1 < count && token->problem == NULL && token->index >= 0; k++)
            if (tokens[k].index == token->index)
                token->problem = "this GPU is named twice (a duplicate hides all)";
        if (token->problem != NULL)
            break;
    }
    strings_free(&parts);
    return count;
}

/* A GPU that only this list asks for is missing because the list counts GPUs that are not here. */
static void explain_counted(struct findings *out) {
    for (size_t i = 0; i < out->count; i++) {
        struct finding *f = &out->items[i];
        bool counted = false;
        for (size_t e = 0; e < f->n_evidence && strcmp(f->rule->id, "nodes.gpu-missing") == 0; e++)
            counted = counted || strstr(f->evidence[e].value, ACCESS_COUNTED) != NULL;
        if (counted && f->consequence_of == NULL)
            finding_follows(f, "env.visible-devices");
    }
}

static void say_hidden(const struct scene *scene, const char *value, const struct token *tokens, size_t count,
                       struct findings *out) {
    int have = versions_nvml_count(scene);
    const struct token *bad = count > 0 ? &tokens[count - 1] : NULL;
    bool blank = bad == NULL || (count == 1 && bad->text[0] == '\0');
    bool twice = bad != NULL && bad->problem != NULL && strstr(bad->problem, "twice") != NULL;
    size_t kept = twice || count == 0 ? 0 : count - 1;
    struct finding *f = blank ? finding_add(out, "env.visible-devices", SEVERITY_FAIL,
                                            "CUDA_VISIBLE_DEVICES is empty (blank): it hides every GPU")
                              : finding_add(out, "env.visible-devices", SEVERITY_FAIL,
                                            "CUDA_VISIBLE_DEVICES: '%s' is no GPU here, and %s", bad->text,
                                            twice       ? "no GPU is left"
                                            : kept == 0 ? "hides every GPU"
                                                        : "hides all from there on");
    finding_evidence(f, "CUDA_VISIBLE_DEVICES", "'%.200s'", value);
    if (!blank)
        finding_evidence(f, bad->text, "%s", bad->problem);
    if (have >= 0)
        finding_evidence(f, "GPUs by NVML", "%d%s", have, have > 0 ? " (0 is the first)" : "");
    finding_remedy(f, "unset CUDA_VISIBLE_DEVICES   (all GPUs)");
    if (have == 1)
        finding_remedy(f, "or: export CUDA_VISIBLE_DEVICES=0");
    else if (have > 1)
        finding_remedy(f, "or a list of 0 to %d, for example: export CUDA_VISIBLE_DEVICES=0,1", have - 1);
}

/* By index the first is the fastest GPU, where models differ, while nvidia-smi counts by PCI address. */
static void check_order(const struct scene *scene, const struct token *tokens, size_t count,
                        struct findings *out) {
    const js *gpus = js_get(scene->probes, "gpus");
    const char *order = versions_variable(scene, "CUDA_DEVICE_ORDER");
    const char *first = js_get_string(js_at(gpus, 0), "name", NULL);
    bool mixed = false, by_number = false;
    for (size_t i = 1; i < js_length(gpus) && first != NULL; i++)
        mixed = mixed || strcmp(js_get_string(js_at(gpus, i), "name", first), first) != 0;
    for (size_t i = 0; i < count; i++)
        by_number = by_number || isdigit((unsigned char)tokens[i].text[0]);
    if (!mixed || !by_number || (order != NULL && strcmp(order, "PCI_BUS_ID") == 0) ||
        count == js_length(gpus))
        return;
    struct finding *f = finding_add(
        out, "env.device-order", SEVERITY_WARN,
        "GPUs of several models, and CUDA_VISIBLE_DEVICES by number: it may name another GPU than nvidia-smi does");
    finding_evidence(f, "CUDA_VISIBLE_DEVICES", "%.200s", versions_variable(scene, "CUDA_VISIBLE_DEVICES"));
    finding_evidence(f, "CUDA_DEVICE_ORDER", "%s", order != NULL ? order : "not set (fastest first)");
    finding_remedy(f, "export CUDA_DEVICE_ORDER=PCI_BUS_ID   (or name GPUs by UUID)");
}

static void check_visible(const struct scene *scene, struct findings *out) {
    enum { MAX_TOKENS = 64 };
    struct token tokens[MAX_TOKENS];
    const char *value = versions_variable(scene, "CUDA_VISIBLE_DEVICES");
    if (value == NULL)
        return;
    size_t count = parse_list(scene, value, tokens, MAX_TOKENS);
    bool bad = count == 0 || tokens[count - 1].problem != NULL;
    bool trailing = count > 1 && tokens[count - 1].text[0] == '\0'; /* "0,1,": nothing is lost */
    int64_t devices = js_get_int(scene->probes, "cuda_devices", -1);
    struct strings all = {0};
    strings_split(&all, value, ',');
    bool shown_good = versions_cuda_works(scene) && devices >= 0 && (size_t)devices >= all.count && count > 0;
    strings_free(&all);
    if (bad && !trailing && !shown_good) {
        say_hidden(scene, value, tokens, count, out);
        explain_counted(out);
    } else {
        check_order(scene, tokens, count, out);
    }
}

/* ---- MPS ---- */

static const char *mps_folder(const struct scene *scene) {
    const char *set = versions_variable(scene, "CUDA_MPS_PIPE_DIRECTORY");
    return set != NULL && set[0] == '/' ? set : "/tmp/nvidia-mps";
}

/* The daemon writes its process id beside its pipe. In a container it may be the host's, whose ids mean
 * nothing here. 1, 0; -1 not known. */
static int mps_daemon(const struct scene *scene, const char *folder) {
    struct text path = {0};
    int64_t pid = 0;
    text_addf(&path, "%.400s/nvidia-cuda-mps-control.pid", folder);
    char *text = look_text(scene->source, text_string(&path));
    text_clear(&path);
    int out = text == NULL ? 0 : -1;
    if (text != NULL && text_to_int(text, &pid) && pid > 0) {
        text_addf(&path, "/proc/%lld/comm", (long long)pid);
        char *name = look_text(scene->source, text_string(&path));
        bool alive = name != NULL && text_starts(name, "nvidia-cuda-mps");
        out = alive ? 1 : scene->container ? -1 : source_is_whole(scene->source) || name != NULL ? 0 : -1;
        free(name);
    }
    text_free(&path);
    free(text);
    return out;
}

static void check_mps(const struct scene *scene, struct findings *out) {
    enum { MPS_CONNECTION_FAILED = 805, MPS_LAST = 810 };
    const char *folder = mps_folder(scene);
    const char *set = versions_variable(scene, "CUDA_MPS_PIPE_DIRECTORY");
    int code = versions_cuda_code(scene);
    bool failing = code >= MPS_CONNECTION_FAILED && code <= MPS_LAST;
    struct text pipe = {0};
    text_addf(&pipe, "%.400s/control", folder);
    bool there = look_exists(scene->source, text_string(&pipe)) ||
                 (scene->nodes->known && device_nodes_find(scene->nodes, text_string(&pipe)) != NULL);
    int alive = there ? mps_daemon(scene, folder) : 0;
    if (failing || (there && alive == 0)) {
        struct finding *f =
            failing
                ? finding_add(out, "env.mps", SEVERITY_FAIL,
                              "CUDA tries the multi-process service (MPS) at %.200s and fails (%d)", folder,
                              code)
                : finding_add(out, "env.mps", SEVERITY_WARN,
                              "%.200s is there and no MPS control daemon is known to live: CUDA will try it",
                              folder);
        finding_evidence(f, text_string(&pipe), "%s", there ? "is there" : "is not there");
        finding_evidence(f, "CUDA_MPS_PIPE_DIRECTORY", "%s",
                         set != NULL ? set : "not set: CUDA looks at /tmp/nvidia-mps by itself");
        if (scene->container) {
            finding_remedy(
                f,
                "not meant to use MPS: do not mount %.200s into the container (on the host, run the daemon with CUDA_MPS_PIPE_DIRECTORY=/run/nvidia-mps, which the runtime does not mount)",
                folder);
            finding_remedy(f, "or in the container: export CUDA_MPS_PIPE_DIRECTORY=/nowhere");
        } else {
            finding_remedy(f, "not meant to use MPS: echo quit | nvidia-cuda-mps-control, then remove %.200s",
                           folder);
        }
        finding_remedy(f, "meant to: nvidia-cuda-mps-control -d, as the same user%s",
                       scene->container ? ", on the host, and --ipc=host for the container" : "");
    }
    text_free(&pipe);
}

static const struct rule rules[] = {
    {.id = "env.visible-devices",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "CUDA_VISIBLE_DEVICES hides GPUs that it was not meant to hide",
     .needs = "probes.json: env, gpus, cuda_devices",
     .cause =
         "CUDA drops everything from the first token that is no GPU; with nothing left cuInit answers 100, while nvidia-smi shows all",
     .remedy = "unset it, or numbers from 0 or UUIDs of GPUs that are here",
     .source = "measured: 7, empty, bash, and 0,9; public threads",
     .check = check_visible},
    {.id = "env.device-order",
     .area = AREA_TUNING,
     .severity = SEVERITY_WARN,
     .title = "CUDA_VISIBLE_DEVICES by number where models differ",
     .needs = "probes.json: env, gpus",
     .cause = "CUDA counts the fastest GPU first, nvidia-smi by PCI address",
     .remedy = "CUDA_DEVICE_ORDER=PCI_BUS_ID",
     .source = "CUDA programming guide, environment variables"},
    {.id = "env.mps",
     .area = AREA_CUDA,
     .severity = SEVERITY_FAIL,
     .title = "a client of MPS that never asked for it",
     .needs = "/tmp/nvidia-mps or CUDA_MPS_PIPE_DIRECTORY, probes.json: cuInit",
     .cause =
         "CUDA looks for the control pipe at every start; one that leads to no daemon, or to another user's, fails it with 805",
     .remedy = "take the folder away, or start the daemon",
     .source = "public thread: the container runtime mounts /tmp/nvidia-mps when it exists",
     .check = check_mps},
    {0},
};

const struct rule_family family_env = {"env", rules};
