/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs and pinned memory with a made-up GPU, whose memory is the host's: that copies go where they should,
 * and that what goes wrong on the way is found. */
#include "unit/unit.h"

#include "base/text.h"
#include "bench/copy_pair.c"
#include "bench/pinned.c"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 << 10, BLOCKS = 4 };

static struct fake {
    int registered, unregistered, kernels, copies;
    int live;         /* allocations on the device */
    int lose;         /* this copy never arrives; 0: none */
    bool unreachable; /* the next question for an address fails */
    bool no_pinning;  /* cudaHostRegister fails */
} fake;

bool gpu_use(const struct gpu_device *device, struct error *err) {
    (void)device, (void)err;
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
    (void)err;
    *out = mem_zeroed(1, bytes);
    fake.live++;
    return true;
}

void gpu_free(void *p) {
    fake.live -= p != NULL ? 1 : 0;
    free(p);
}

bool gpu_host_alloc(size_t bytes, void **out, struct error *err) {
    return gpu_alloc(bytes, out, err);
}

void gpu_host_free(void *p) {
    gpu_free(p);
}

bool gpu_register(void *p, size_t bytes, struct error *err) {
    (void)p, (void)bytes;
    if (fake.no_pinning)
        return FAIL(err, ERROR_GPU, "cannot pin");
    fake.registered++;
    return true;
}

void gpu_unregister(void *p) {
    fake.unregistered += p != NULL ? 1 : 0;
}

bool gpu_device_address(void *host, void **out, struct error *err) {
    *out = host;
    bool good = !fake.unreachable;
    fake.unreachable = false;
    return good || FAIL(err, ERROR_GPU, "not here");
}

static void move(void *to, const void *from, size_t bytes, int number) {
    if (number != fake.lose)
        memcpy(to, from, bytes);
}

bool gpu_copy_async(void *to, const void *from, size_t bytes, gpu_stream stream, struct error *err) {
    (void)stream, (void)err;
    move(to, from, bytes, ++fake.copies);
    return true;
}

int copy_kernel_launch(void *to, const void *from, size_t bytes, void *stream) {
    (void)stream;
    fake.kernels++;
    move(to, from, bytes, ++fake.copies);
    return 0;
}

int pattern_fill_device(void *buffer, size_t bytes, uint32_t seed, void *stream) {
    (void)stream;
    pattern_fill_host(buffer, bytes, seed);
    return 0;
}

int pattern_check_device(const void *buffer, size_t bytes, uint32_t seed, struct pattern_fault *out,
                         void *stream) {
    (void)stream;
    pattern_check_host(buffer, bytes, seed, out);
    return 0;
}

int corrupt_word_device(void *buffer, uint64_t offset, void *stream) {
    (void)stream;
    corrupt_word_host(buffer, offset);
    return 0;
}

int corrupt_shift_device(void *buffer, uint64_t offset, void *stream) {
    (void)stream;
    corrupt_shift_host(buffer, offset);
    return 0;
}

int corrupt_swap_device(void *a, void *b, size_t bytes, void *stream) {
    (void)stream;
    corrupt_swap_host(a, b, bytes);
    return 0;
}

static struct shelf *a_shelf;

static int make_shelf(void **state) {
    (void)state;
    a_shelf = shelf_make();
    return 0;
}

static int free_shelf(void **state) {
    (void)state;
    free(a_shelf);
    return 0;
}

/* With all that is in it; the next test has an empty shelf. */
static void free_pool(void) {
    struct pool *pool = shelf_find(a_shelf, shelf_name);
    for (int i = 0; pool != NULL && i < MAX_KEPT; i++) {
        if (pool->entries[i].how == PINNED_HOSTALLOC)
            free(pool->entries[i].buffer.data);
        else
            host_buffer_free(&pool->entries[i].buffer);
    }
    free(pool);
    free(a_shelf);
    a_shelf = shelf_make();
    fake = (struct fake){0};
}

/* ---- pairs ---- */

struct bed {
    struct case_context context;
    js *params;
};

static struct bed begin(const char *memory, const char *engine) {
    fake = (struct fake){0};
    struct bed bed = {.params = js_new_object()};
    js_set_int(bed.params, "bytes", BLOCK);
    js_set_string(bed.params, "memory", memory);
    js_set_string(bed.params, "engine", engine);
    bed.context = (struct case_context){
        .params = bed.params, .seed = 12345, .extra = js_new_object(), .flags = js_new_array()};
    return bed;
}

static void end(struct bed *bed) {
    js_free(bed->params);
    js_free(bed->context.extra);
    js_free(bed->context.flags);
    assert_int_equal(fake.live, 0);
    assert_int_equal(fake.registered, fake.unregistered);
}

static const struct gpu_device gpu = {.bdf = "0000:41:00.0"};

static struct copy_pair made(struct bed *bed, bool to_device, int index) {
    struct copy_pair pair;
    struct error err = {0};
    copy_pair_plan(&pair, &bed->context, &gpu, to_device, -1, index);
    pair.window = (size_t)BLOCKS * BLOCK;
    if (!copy_pair_make(&pair, &bed->context, &err) || !copy_pair_poison(&pair, &err))
        fail_msg("%s", err.text);
    return pair;
}

static struct verification verified(struct copy_pair *pair) {
    struct verification v = {0};
    struct error err = {0};
    if (!copy_pair_verify(pair, &v, &err))
        fail_msg("%s", err.text);
    return v;
}

static void copy(struct copy_pair *pair, int count) {
    struct error err = {0};
    assert_true(copy_pair_enqueue(pair, NULL, count, &err));
}

static void whole_and_part(const char *memory, const char *engine, bool to_device) {
    struct bed bed = begin(memory, engine);
    struct copy_pair pair = made(&bed, to_device, 0);
    copy(&pair, 3);
    struct verification v = verified(&pair);
    assert_int_equal(v.bad, 0);
    assert_int_equal(v.checked_bytes, 3 * BLOCK);
    copy(&pair, BLOCKS);
    v = verified(&pair);
    assert_int_equal(v.bad, 0);
    assert_int_equal(v.checked_bytes, BLOCKS * BLOCK);
    assert_string_equal(v.what, to_device ? "device buffer" : "host buffer");
    assert_int_equal(fake.kernels, strcmp(engine, "sm") == 0 ? 3 + BLOCKS : 0);
    copy_pair_free(&pair, NULL);
    end(&bed);
}

static void copies_walk_through_the_buffer(void **state) {
    (void)state;
    static const char *const memories[] = {"pinned", "hostalloc", "pageable"};
    for (size_t i = 0; i < 3; i++)
        for (int to_device = 0; to_device < 2; to_device++) {
            whole_and_part(memories[i], "ce", to_device != 0);
            whole_and_part(memories[i], "sm", to_device != 0);
        }
}

/* Until the destination is poisoned a large copy is only begun. */
static void warming_takes_a_part(void **state) {
    (void)state;
    struct error err = {0};
    for (int to_device = 0; to_device < 2; to_device++) {
        struct bed bed = begin("pinned", "ce");
        struct copy_pair pair;
        js_set_int(bed.params, "bytes", COPY_WARM + BLOCK);
        copy_pair_plan(&pair, &bed.context, &gpu, to_device != 0, -1, 0);
        assert_true(copy_pair_make(&pair, &bed.context, &err));
        const char *to = to_device ? pair.device : pair.host;
        copy(&pair, 1);
        assert_true(*(const uint32_t *)(const void *)(to + COPY_WARM - 4) ==
                    pattern_word(COPY_WARM / 4 - 1, pair.seed));
        assert_true(*(const uint32_t *)(const void *)(to + COPY_WARM) !=
                    pattern_word(COPY_WARM / 4, pair.seed));
        assert_true(copy_pair_poison(&pair, &err));
        copy(&pair, 1);
        struct verification v = verified(&pair);
        assert_int_equal(v.bad, 0);
        assert_int_equal(v.checked_bytes, COPY_WARM + BLOCK);
        copy_pair_free(&pair, NULL);
        end(&bed);
        free_pool();
    }
}

static void a_lost_copy_is_found(void **state) {
    (void)state;
    for (int to_device = 0; to_device < 2; to_device++) {
        struct bed bed = begin("pinned", "ce");
        struct copy_pair pair = made(&bed, to_device != 0, 0);
        pair.name_gpu = true;
        fake.lose = 2;
        copy(&pair, BLOCKS);
        struct verification v = verified(&pair);
        assert_int_equal(v.bad, BLOCK / 4); /* every word of it was spoilt before */
        assert_int_equal(v.first_bad_offset, BLOCK);
        assert_int_equal(v.expected, pattern_word(BLOCK / 4, pair.seed));
        assert_string_equal(v.what, to_device ? "device buffer of GPU 0000:41:00.0"
                                              : "host buffer of GPU 0000:41:00.0");
        copy_pair_free(&pair, NULL);
        end(&bed);
    }
}

/* The next item reads what an earlier one filled; what another left there is no data. */
static void a_source_is_filled_once(void **state) {
    (void)state;
    struct bed bed = begin("pinned", "ce");
    struct copy_pair pair;
    struct error err = {0};
    uint32_t seed = 0;
    bed.context.shelf = a_shelf;
    for (int i = 0; i < 4; i++) {
        bool to_device = i != 2;
        copy_pair_plan(&pair, &bed.context, &gpu, to_device, -1, i);
        pair.window = WORTH_KEEPING;
        assert_true(copy_pair_make(&pair, &bed.context, &err) && copy_pair_poison(&pair, &err));
        if (i == 1)
            assert_int_equal(pair.seed, seed);
        else
            assert_int_not_equal(pair.seed, seed);
        copy(&pair, BLOCKS);
        assert_int_equal(verified(&pair).bad, 0);
        assert_int_equal(fake.registered, 1); /* the same memory */
        seed = pair.seed;
        copy_pair_free(&pair, a_shelf);
    }
    free_pool();
    end(&bed);
}

/* What the warm-up left on the host does not pass for a sample's. */
static void an_earlier_copy_is_no_later_one(void **state) {
    (void)state;
    struct error err = {0};
    for (int to_device = 0; to_device < 2; to_device++) {
        struct bed bed = begin("pinned", "ce");
        struct copy_pair pair = made(&bed, to_device != 0, 0);
        copy(&pair, BLOCKS);
        assert_true(copy_pair_poison(&pair, &err));
        fake.lose = fake.copies + 2;
        copy(&pair, BLOCKS);
        struct verification v = verified(&pair);
        assert_int_equal(v.bad, BLOCK / 4);
        assert_int_equal(v.first_bad_offset, BLOCK);
        copy_pair_free(&pair, NULL);
        end(&bed);
    }
}

static void nothing_copied_is_no_success(void **state) {
    (void)state;
    struct bed bed = begin("pinned", "ce");
    struct copy_pair pair = made(&bed, true, 0);
    struct verification v = {0};
    struct error err = {0};
    copy(&pair, BLOCKS);
    assert_true(copy_pair_poison(&pair, &err));
    assert_false(copy_pair_verify(&pair, &v, &err));
    assert_int_equal(err.kind, ERROR_VERIFY);
    copy_pair_free(&pair, NULL);
    end(&bed);
}

static void damage_is_found(void **state) {
    (void)state;
    static const char *const ways[] = {"word", "shift", "swap"};
    static const uint64_t bad[] = {CORRUPT_WORD_BYTES / 4, CORRUPT_SHIFT_BYTES / 4, BLOCKS * BLOCK / 4};
    for (size_t i = 0; i < 3; i++)
        for (int to_device = 0; to_device < 2; to_device++) {
            struct bed bed = begin("pinned", "ce");
            struct copy_pair pair = made(&bed, to_device != 0, 0), other = made(&bed, to_device != 0, 1);
            struct error err = {0};
            uint64_t offset = 1;
            copy(&pair, BLOCKS);
            copy(&other, BLOCKS);
            if (!copy_pair_damage(&pair, &other, ways[i], 999983, &offset, &err))
                fail_msg("%s", err.text);
            struct verification v = verified(&pair);
            assert_int_equal(v.bad, bad[i]);
            assert_int_equal(v.first_bad_offset, offset);
            copy_pair_free(&pair, NULL);
            copy_pair_free(&other, NULL);
            end(&bed);
        }
}

static void impossible_sizes(void **state) {
    (void)state;
    static const int sizes[] = {0, 6};
    for (size_t i = 0; i < 2; i++) {
        struct bed bed = begin("pinned", "ce");
        struct copy_pair pair;
        struct error err = {0};
        js_set_int(bed.params, "bytes", sizes[i]);
        copy_pair_plan(&pair, &bed.context, &gpu, true, -1, 0);
        assert_false(copy_pair_make(&pair, &bed.context, &err));
        copy_pair_free(&pair, NULL);
        end(&bed);
    }
}

/* ---- pinned memory ---- */

static const struct host_buffer *taken(size_t bytes, int os_node) {
    const struct host_buffer *buffer = NULL;
    struct error err = {0};
    if (!pinned_take(a_shelf, PINNED_REGISTERED, bytes, os_node, false, &buffer, &err))
        fail_msg("%s", err.text);
    assert_true(buffer->bytes >= bytes);
    return buffer;
}

static void large_memory_is_kept(void **state) {
    (void)state;
    fake = (struct fake){0};
    const struct host_buffer *a = taken(WORTH_KEEPING, -1);
    const struct host_buffer *b = taken(WORTH_KEEPING, -1);
    assert_ptr_not_equal(a, b);
    assert_ptr_not_equal(a->data, b->data);
    pinned_give(a_shelf, a);
    assert_ptr_equal(taken(WORTH_KEEPING, -1), a);
    assert_int_equal(fake.registered, 2);
    pinned_give(a_shelf, b);
    /* Too small for this, or on another node: another one. */
    const struct host_buffer *c = taken(WORTH_KEEPING + 4096, -1);
    assert_ptr_not_equal(c, b);
    pinned_give(a_shelf, c);
    assert_ptr_equal(taken(WORTH_KEEPING, -1), b); /* the smallest that does */
    assert_int_equal(fake.registered, 3);
    assert_int_equal(fake.unregistered, 0);
    free_pool();
}

/* Each kind goes to those who want it; of several, a source that is filled to whoever reads. */
static void the_right_one_of_several(void **state) {
    (void)state;
    uint32_t seed = 0;
    fake = (struct fake){0};
    const struct host_buffer *a = taken(WORTH_KEEPING, -1), *b = taken(WORTH_KEEPING, -1), *c = NULL,
                             *d = NULL;
    struct error err = {0};
    assert_true(pinned_take(a_shelf, PINNED_HOSTALLOC, WORTH_KEEPING, -1, true, &c, &err));
    assert_false(pinned_is_filled(a, 4, &seed));
    pinned_mark(b, 8192, 77);
    assert_true(pinned_is_filled(b, 8192, &seed));
    assert_int_equal(seed, 77);
    assert_false(pinned_is_filled(b, 8196, &seed));
    pinned_give(a_shelf, a);
    pinned_give(a_shelf, b);
    pinned_give(a_shelf, c);
    assert_true(pinned_take(a_shelf, PINNED_REGISTERED, WORTH_KEEPING, -1, true, &d, &err));
    assert_ptr_equal(d, b);
    pinned_give(a_shelf, d);
    assert_ptr_equal(taken(WORTH_KEEPING, -1), a);
    assert_ptr_equal(taken(WORTH_KEEPING, -1), b); /* rather that than new memory */
    pinned_mark(b, 0, 0);
    assert_false(pinned_is_filled(b, 4, &seed));
    assert_true(pinned_take(a_shelf, PINNED_HOSTALLOC, WORTH_KEEPING, -1, false, &d, &err));
    assert_ptr_equal(d, c);
    pinned_give(a_shelf, c);
    fake.unreachable = true; /* made anew */
    assert_true(pinned_take(a_shelf, PINNED_HOSTALLOC, WORTH_KEEPING, -1, false, &d, &err));
    assert_ptr_equal(d, c);
    assert_int_equal(fake.live, 1);
    assert_int_equal(fake.registered, 2);
    free_pool();
}

static void small_memory_is_not(void **state) {
    (void)state;
    fake = (struct fake){0};
    pinned_give(a_shelf, taken(4096, -1));
    assert_int_equal(fake.unregistered, 1);
    pinned_give(a_shelf, taken(4096, -1));
    assert_int_equal(fake.registered, 2);
    assert_int_equal(fake.unregistered, 2);
    pinned_give(a_shelf, NULL);
    free_pool();
}

static void memory_that_a_gpu_does_not_see_is_registered_anew(void **state) {
    (void)state;
    fake = (struct fake){0};
    const struct host_buffer *a = taken(WORTH_KEEPING, -1);
    pinned_give(a_shelf, a);
    fake.unreachable = true;
    assert_ptr_equal(taken(WORTH_KEEPING, -1), a);
    assert_int_equal(fake.registered, 2);
    assert_int_equal(fake.unregistered, 1);
    free_pool();
}

static void pinning_that_fails_leaves_nothing(void **state) {
    (void)state;
    static const size_t sizes[] = {4096, WORTH_KEEPING};
    for (size_t i = 0; i < 2; i++) {
        const struct host_buffer *buffer = NULL;
        struct error err = {0};
        fake = (struct fake){.no_pinning = true};
        assert_false(pinned_take(a_shelf, PINNED_REGISTERED, sizes[i], -1, false, &buffer, &err));
        assert_null(buffer);
        assert_non_null(strstr(err.text, "cannot pin"));
        fake.no_pinning = false;
        pinned_give(a_shelf, taken(sizes[i], -1));
        free_pool();
    }
}

/* Nine tenths of what is available; other processes take and give meanwhile, so not to the byte. */
static void memory_is_left_to_the_system(void **state) {
    (void)state;
    struct error err = {0};
    int64_t kib = available_kib();
    if (kib < 0)
        skip_because("/proc/meminfo does not tell what memory is available");
    assert_true(host_memory_suffices((size_t)kib * 1024 / 2, &err));
    assert_false(host_memory_suffices((size_t)kib * 1024 / 4 * 5, &err));
    assert_non_null(strstr(err.text, "MiB are available"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_walk_through_the_buffer),
        cmocka_unit_test(warming_takes_a_part),
        cmocka_unit_test(a_lost_copy_is_found),
        cmocka_unit_test(a_source_is_filled_once),
        cmocka_unit_test(an_earlier_copy_is_no_later_one),
        cmocka_unit_test(nothing_copied_is_no_success),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(impossible_sizes),
        cmocka_unit_test(large_memory_is_kept),
        cmocka_unit_test(the_right_one_of_several),
        cmocka_unit_test(small_memory_is_not),
        cmocka_unit_test(memory_that_a_gpu_does_not_see_is_registered_anew),
        cmocka_unit_test(pinning_that_fails_leaves_nothing),
        cmocka_unit_test(memory_is_left_to_the_system),
    };
    return cmocka_run_group_tests(tests, make_shelf, free_shelf);
}
