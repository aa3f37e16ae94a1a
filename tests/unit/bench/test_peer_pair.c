/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between two made-up GPUs, whose memory is the host's, over mappings that work, are refused, or lead
 * elsewhere: what a false grant does (each GPU finds its own writes at a peer's address, and the peer none of
 * them), so that going there and back looks right. */
#include "unit/unit.h"

#include "base/mem.h"
#include "base/text.h"
#include "bench/peer_memory.c"
#include "bench/peer_pair.c"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 << 10, BLOCKS = 4, MAX_BUFFERS = 16 };

struct buffer {
    char *owner, *mirror; /* what its GPU sees there, and what another one does */
    size_t bytes;
    int ordinal;
};

static struct fake {
    int current;
    bool mirrors;   /* peers do not reach the owner's memory */
    bool mapped[2]; /* by GPU: reaches the other's memory */
    int refuse;     /* this GPU's mapping is refused; -1: none */
    bool drops;     /* the next copy never arrives */
    int copies, kernels, live;
    size_t room; /* bytes of memory left on each GPU */
    struct buffer buffers[MAX_BUFFERS];
} fake;

static struct gpu_device gpus[2] = {{.ordinal = 0, .bdf = "0000:01:00.0"},
                                    {.ordinal = 1, .bdf = "0000:02:00.0"}};

/* ---- GPUs ---- */

static struct buffer *buffer_of(const void *p) {
    for (int i = 0; i < MAX_BUFFERS; i++) {
        struct buffer *b = &fake.buffers[i];
        if (b->owner != NULL && (const char *)p >= b->owner && (const char *)p < b->owner + b->bytes)
            return b;
    }
    fail_msg("an address that nobody allocated");
    return NULL;
}

/* The place that the current GPU reaches under an address. */
static char *seen(const void *p) {
    struct buffer *b = buffer_of(p);
    size_t at = (size_t)((const char *)p - b->owner);
    return (b->ordinal != fake.current && fake.mirrors ? b->mirror : b->owner) + at;
}

bool gpu_use(const struct gpu_device *device, struct error *err) {
    (void)err;
    fake.current = device->ordinal;
    return true;
}

bool gpu_check(int code, const char *what, struct error *err) {
    return code == 0 || FAIL(err, ERROR_GPU, "%s", what);
}

bool gpu_synchronize(struct error *err) {
    (void)err;
    return true;
}

bool gpu_alloc(size_t bytes, void **out, struct error *err) {
    *out = NULL;
    size_t used = 0;
    for (int i = 0; i < MAX_BUFFERS; i++)
        used += fake.buffers[i].ordinal == fake.current ? fake.buffers[i].bytes : 0;
    if (used + bytes > fake.room)
        return FAIL(err, ERROR_GPU, "out of memory");
    for (int i = 0; i < MAX_BUFFERS; i++) {
        struct buffer *b = &fake.buffers[i];
        if (b->owner != NULL)
            continue;
        *b = (struct buffer){mem_zeroed(1, bytes), mem_zeroed(1, bytes), bytes, fake.current};
        fake.live++;
        *out = b->owner;
        return true;
    }
    return FAIL(err, ERROR_GPU, "too many buffers for this test");
}

void gpu_free(void *p) {
    if (p == NULL)
        return;
    struct buffer *b = buffer_of(p);
    free(b->owner);
    free(b->mirror);
    *b = (struct buffer){.ordinal = -1};
    fake.live--;
}

enum gpu_peer gpu_peer_enable(const struct gpu_device *from, const struct gpu_device *to, struct error *err) {
    (void)to;
    fake.current = from->ordinal;
    if (fake.refuse == from->ordinal) {
        FAIL(err, ERROR_GPU, "peer access was refused");
        return GPU_PEER_REFUSED;
    }
    fake.mapped[from->ordinal] = true;
    return GPU_PEER_ON;
}

bool gpu_peer_disable(const struct gpu_device *from, const struct gpu_device *to, struct error *err) {
    (void)to, (void)err;
    fake.mapped[from->ordinal] = false;
    return true;
}

static void move(void *to, const void *from, size_t bytes) {
    if (!fake.drops)
        memcpy(seen(to), seen(from), bytes);
    fake.drops = false;
}

bool gpu_copy_async(void *to, const void *from, size_t bytes, gpu_stream stream, struct error *err) {
    (void)stream, (void)err;
    fake.copies++;
    move(to, from, bytes);
    return true;
}

int copy_kernel_launch(void *to, const void *from, size_t bytes, void *stream) {
    (void)stream;
    fake.kernels++;
    if (!fake.mapped[fake.current])
        return 1; /* an address that this GPU does not know */
    move(to, from, bytes);
    return 0;
}

int pattern_fill_device(void *buffer, size_t bytes, uint32_t seed, void *stream) {
    (void)stream;
    pattern_fill_host(seen(buffer), bytes, seed);
    return 0;
}

int pattern_check_device(const void *buffer, size_t bytes, uint32_t seed, struct pattern_fault *out,
                         void *stream) {
    (void)stream;
    pattern_check_host(seen(buffer), bytes, seed, out);
    return 0;
}

int corrupt_word_device(void *buffer, uint64_t offset, void *stream) {
    (void)stream;
    corrupt_word_host(seen(buffer), offset);
    return 0;
}

int corrupt_shift_device(void *buffer, uint64_t offset, void *stream) {
    (void)stream;
    corrupt_shift_host(seen(buffer), offset);
    return 0;
}

/* ---- a bed ---- */

struct bed {
    struct case_context context;
    js *params;
    struct peer_pair pair;
    struct error err;
};

static void begin(struct bed *t, const char *access, const char *engine, const char *peer) {
    fake = (struct fake){.refuse = -1, .room = 64 << 20};
    for (int i = 0; i < MAX_BUFFERS; i++)
        fake.buffers[i].ordinal = -1;
    *t = (struct bed){.params = js_new_object()};
    js_set_int(t->params, "bytes", BLOCK);
    js_set_string(t->params, "access", access);
    js_set_string(t->params, "engine", engine);
    js_set_string(t->params, "peer", peer);
    t->context = (struct case_context){.params = t->params, .seed = 77, .shelf = shelf_make()};
    peer_pair_plan(&t->pair, &t->context, &gpus[0], &gpus[1], 0);
    t->pair.window = BLOCKS * BLOCK;
}

static void end(struct bed *t) {
    peer_pair_free(&t->pair, t->context.shelf);
    for (int i = 0; i < MAX_BUFFERS; i++)
        if (fake.buffers[i].owner != NULL)
            gpu_free(fake.buffers[i].owner);
    free(shelf_find(t->context.shelf, shelf_name));
    free(t->context.shelf);
    js_free(t->params);
}

/* Makes, spoils, copies `count` blocks as the initiator, and checks. */
static struct verification go(struct bed *t, int count) {
    struct verification v = {0};
    bool good = peer_pair_make(&t->pair, &t->context, &t->err) && peer_pair_poison(&t->pair, &t->err) &&
                gpu_use(peer_pair_initiator(&t->pair), &t->err) &&
                peer_pair_enqueue(&t->pair, NULL, count, &t->err) && peer_pair_verify(&t->pair, &v, &t->err);
    if (!good)
        fail_msg("%s", t->err.text);
    return v;
}

static const char *const accesses[] = {"write", "read"};
static const char *const engines[] = {"ce", "sm"};

/* ---- tests ---- */

static void right_copies_are_right(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct bed t;
        begin(&t, accesses[i / 2], engines[i % 2], "on");
        struct verification v = go(&t, BLOCKS);
        assert_int_equal(v.bad, 0);
        assert_int_equal(v.checked_bytes, BLOCKS * BLOCK);
        assert_int_equal(fake.copies, i % 2 == 0 ? BLOCKS : 0);
        assert_int_equal(fake.kernels, i % 2 == 0 ? 0 : BLOCKS);
        assert_true(fake.mapped[0] && fake.mapped[1]);
        end(&t);
    }
}

static void the_initiator_is_the_direction(void **state) {
    (void)state;
    struct bed t;
    begin(&t, "write", "ce", "on");
    assert_ptr_equal(peer_pair_initiator(&t.pair), &gpus[0]);
    end(&t);
    begin(&t, "read", "ce", "on");
    assert_ptr_equal(peer_pair_initiator(&t.pair), &gpus[1]);
    end(&t);
}

/* A false grant: everything succeeds, and nothing arrives. */
static void a_mirror_is_found(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct bed t;
        begin(&t, accesses[i / 2], engines[i % 2], "on");
        fake.mirrors = true;
        struct verification v = go(&t, BLOCKS);
        assert_int_equal(v.bad, BLOCKS * BLOCK / 4);
        assert_int_equal(v.first_bad_offset, 0);
        assert_non_null(strstr(v.what, gpus[1].bdf));
        end(&t);
    }
}

/* Why only the destination's own read counts: there and back through the mirror gives the data again. */
static void there_and_back_proves_nothing(void **state) {
    (void)state;
    struct bed t;
    struct pattern_fault fault = {0};
    begin(&t, "write", "ce", "on");
    fake.mirrors = true;
    assert_int_equal(go(&t, BLOCKS).bad, BLOCKS * BLOCK / 4);
    fake.current = gpus[0].ordinal;
    assert_int_equal(pattern_fill_device(t.pair.source, BLOCKS * BLOCK, ~t.pair.seed, NULL), 0);
    move(t.pair.source, t.pair.target, BLOCKS * BLOCK);
    assert_int_equal(pattern_check_device(t.pair.source, BLOCKS * BLOCK, t.pair.seed, &fault, NULL), 0);
    assert_int_equal(fault.bad, 0);
    end(&t);
}

/* A case whose name says who issues has it as an attribute, outside its keys. */
static void the_direction_may_be_an_attribute(void **state) {
    (void)state;
    struct bed t;
    js *attributes = js_new_object();
    begin(&t, "", "ce", "on");
    js_set_string(attributes, "access", "read");
    t.context.attributes = attributes;
    peer_pair_plan(&t.pair, &t.context, &gpus[0], &gpus[1], 0);
    assert_ptr_equal(peer_pair_initiator(&t.pair), &gpus[1]);
    js_free(attributes);
    end(&t);
}

static void a_lost_copy_is_found(void **state) {
    (void)state;
    struct bed t;
    begin(&t, "write", "ce", "on");
    assert_true(peer_pair_make(&t.pair, &t.context, &t.err) && peer_pair_poison(&t.pair, &t.err));
    fake.current = 0;
    assert_true(peer_pair_enqueue(&t.pair, NULL, 2, &t.err));
    fake.drops = true;
    assert_true(peer_pair_enqueue(&t.pair, NULL, 1, &t.err));
    struct verification v = {0};
    assert_true(peer_pair_verify(&t.pair, &v, &t.err));
    assert_int_equal(v.bad, BLOCK / 4);
    assert_int_equal(v.first_bad_offset, 2 * BLOCK);
    end(&t);
}

static void damage_is_found_at_its_place(void **state) {
    (void)state;
    static const char *const damages[] = {"word", "shift", "pair"};
    for (int i = 0; i < 3; i++) {
        struct bed t;
        uint64_t offset = 1;
        struct verification v = {0};
        begin(&t, "write", "ce", "on");
        go(&t, BLOCKS);
        assert_true(peer_pair_damage(&t.pair, damages[i], 123456, &offset, &t.err));
        assert_true(peer_pair_verify(&t.pair, &v, &t.err));
        assert_true(v.bad >= 4);
        assert_int_equal(v.first_bad_offset, offset);
        assert_int_equal(v.expected, pattern_word(offset / 4, t.pair.seed));
        assert_true(v.found != v.expected);
        end(&t);
    }
}

/* Data of another round, or of the way back, is not this pair's. */
static void data_is_the_pairs_own(void **state) {
    (void)state;
    struct bed t;
    struct peer_pair back;
    begin(&t, "write", "ce", "on");
    peer_pair_plan(&back, &t.context, &gpus[1], &gpus[0], 1);
    assert_true(back.seed != t.pair.seed);
    t.context.seed++;
    peer_pair_plan(&back, &t.context, &gpus[0], &gpus[1], 0);
    assert_true(back.seed != t.pair.seed);
    end(&t);
}

static void nothing_copied_is_no_success(void **state) {
    (void)state;
    struct bed t;
    struct verification v = {0};
    begin(&t, "write", "ce", "on");
    assert_true(peer_pair_make(&t.pair, &t.context, &t.err) && peer_pair_poison(&t.pair, &t.err));
    assert_false(peer_pair_verify(&t.pair, &v, &t.err));
    assert_int_equal(t.err.kind, ERROR_VERIFY);
    end(&t);
}

static void a_refused_mapping_is_an_error(void **state) {
    (void)state;
    for (int side = 0; side < 2; side++) {
        struct bed t;
        begin(&t, "write", "ce", "on");
        fake.refuse = side;
        assert_false(peer_pair_make(&t.pair, &t.context, &t.err));
        assert_non_null(strstr(t.err.text, "no P2P"));
        end(&t);
    }
}

static void staged_copies_take_the_mappings_back(void **state) {
    (void)state;
    struct bed t;
    begin(&t, "write", "ce", "off");
    fake.mapped[0] = fake.mapped[1] = true;
    assert_int_equal(go(&t, 1).bad, 0);
    assert_true(!fake.mapped[0] && !fake.mapped[1]);
    end(&t);
    begin(&t, "write", "sm", "off"); /* a kernel would touch an address that is not there */
    assert_false(peer_pair_make(&t.pair, &t.context, &t.err));
    end(&t);
}

static void buffers_are_made_once(void **state) {
    (void)state;
    struct bed t;
    begin(&t, "write", "ce", "on");
    go(&t, 1);
    const void *source = t.pair.source, *target = t.pair.target;
    assert_int_equal(fake.live, 2);
    peer_pair_free(&t.pair, t.context.shelf);
    go(&t, 1);
    assert_true(t.pair.source == source && t.pair.target == target);
    assert_int_equal(fake.live, 2);
    /* The other way needs the same buffers' sizes, which are there. */
    peer_pair_free(&t.pair, t.context.shelf);
    t.pair.from = &gpus[1];
    t.pair.to = &gpus[0];
    go(&t, 1);
    assert_int_equal(fake.live, 2);
    end(&t);
}

/* What nobody uses makes room for what does not fit otherwise. */
static void idle_buffers_make_room(void **state) {
    (void)state;
    struct bed t;
    begin(&t, "write", "ce", "on");
    go(&t, 1);
    peer_pair_free(&t.pair, t.context.shelf);
    fake.room = BLOCKS * BLOCK + BLOCK;
    t.pair.bytes = BLOCK;
    t.pair.window = (BLOCKS + 1) * BLOCK;
    assert_int_equal(go(&t, 1).bad, 0);
    assert_int_equal(fake.live, 2);
    peer_pair_free(&t.pair, t.context.shelf);
    t.pair.window = (BLOCKS + 2) * BLOCK;
    assert_false(peer_pair_make(&t.pair, &t.context, &t.err));
    end(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_copies_are_right),
        cmocka_unit_test(the_initiator_is_the_direction),
        cmocka_unit_test(a_mirror_is_found),
        cmocka_unit_test(there_and_back_proves_nothing),
        cmocka_unit_test(the_direction_may_be_an_attribute),
        cmocka_unit_test(a_lost_copy_is_found),
        cmocka_unit_test(damage_is_found_at_its_place),
        cmocka_unit_test(data_is_the_pairs_own),
        cmocka_unit_test(nothing_copied_is_no_success),
        cmocka_unit_test(a_refused_mapping_is_an_error),
        cmocka_unit_test(staged_copies_take_the_mappings_back),
        cmocka_unit_test(buffers_are_made_once),
        cmocka_unit_test(idle_buffers_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
