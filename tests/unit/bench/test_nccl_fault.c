/* SPDX-License-Identifier: Apache-2.0 */
/* Hangs inside a collective, on purpose, by two ranks on made-up GPUs and a made-up NCCL: each in a process
 * of its own, which is looked at from outside. */
#include "unit/unit.h"

#include "bench/nccl_fault.c"
#include "bench/nccl_set.c"

#include <sys/wait.h>

/* The process ends without freeing what is on the shelf. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}

/* ---- made-up GPUs, whose memory is the host's ---- */

bool gpu_use(const struct gpu_device *device, struct error *err) {
    return device != NULL || FAIL(err, ERROR_GPU, "no device");
}

bool gpu_check(int code, const char *what, struct error *err) {
    return code == 0 || FAIL(err, ERROR_GPU, "%s: %d", what, code);
}

bool gpu_stream_make(gpu_stream *out, struct error *err) {
    *out = mem_zeroed(1, 1);
    return *out != NULL || FAIL(err, ERROR_GPU, "no stream");
}

void gpu_stream_free(gpu_stream stream) {
    free(stream);
}

bool gpu_stream_done(gpu_stream stream, bool *done, struct error *err) {
    *done = true;
    return stream != NULL || FAIL(err, ERROR_GPU, "no stream");
}

bool gpu_alloc(size_t bytes, void **out, struct error *err) {
    *out = mem_zeroed(1, bytes);
    return *out != NULL || FAIL(err, ERROR_GPU, "no memory");
}

void gpu_free(void *p) {
    free(p);
}

int fault_spin_forever(void *stream) {
    (void)stream;
    return 1;
}

/* ---- the parts of the harness that the case meets ---- */

const char *const nccl_control[] = {NULL};

struct instance *nccl_instance(const struct p2p_party *party, const struct nccl_group *group,
                               const struct metric *metric, enum level level, struct instance_list *out) {
    (void)party, (void)group, (void)metric, (void)level, (void)out;
    return NULL;
}

void p2p_gather(const struct node *node, struct p2p_party *out) {
    (void)node;
    *out = (struct p2p_party){0};
}

/* ---- tests ---- */

static bool two_ranks(const char *how) {
    struct gpu_device gpus[2] = {{.ordinal = 0}, {.ordinal = 1}};
    struct samples samples = {0};
    struct error err = {0};
    js *params = js_new_object();
    struct case_context context = {.params = params,
                                   .attributes = js_new_object(),
                                   .round = 1,
                                   .gpus = gpus,
                                   .n_gpus = 2,
                                   .extra = js_new_object(),
                                   .flags = js_new_array(),
                                   .shelf = shelf_make()};
    js_set_string(params, "how", how);
    bool good = case_nccl_fault.sample(&context, &samples, &err);
    if (!good)
        fprintf(stderr, "%s: %s\n", how, err.text);
    return good && samples.count == 1;
}

/* Its status once it ends or stops; it is killed where it does neither within `seconds`. */
static int go_wrong(const char *how, int seconds, pid_t *child) {
    int status = 0;
    *child = fork();
    if (*child == 0) {
        alarm(60);
        _exit(two_ranks(how) ? 0 : 1);
    }
    assert_true(*child > 0);
    for (int i = 0; i < seconds * 20; i++) {
        struct timespec moment = {.tv_nsec = 50000000};
        if (waitpid(*child, &status, WUNTRACED | WNOHANG) == *child)
            return status;
        nanosleep(&moment, NULL);
    }
    kill(*child, SIGKILL);
    assert_int_equal(waitpid(*child, &status, 0), *child);
    return status;
}

static void nothing_goes_wrong(void **state) {
    (void)state;
    pid_t child;
    int status = go_wrong("none", 50, &child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Within the second operation: let go on, it ends as if nothing had been. */
static void a_rank_stops_its_process(void **state) {
    (void)state;
    pid_t child;
    int status = go_wrong("stopped-rank", 50, &child);
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    kill(child, SIGCONT);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_rank_falls_silent_with_p2p(void **state) {
    (void)state;
    pid_t child;
    int status = go_wrong("silent-with-p2p", 2, &child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    setenv("NCCL_P2P_DISABLE", "1", 1);
    status = go_wrong("silent-with-p2p", 50, &child);
    unsetenv("NCCL_P2P_DISABLE");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    setenv("GPUVET_NCCL", GPUVET_FAKES_DIR "/libnccl.so", 1);
    unsetenv("NCCL_P2P_DISABLE");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_goes_wrong),
        cmocka_unit_test(a_rank_stops_its_process),
        cmocka_unit_test(a_rank_falls_silent_with_p2p),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
