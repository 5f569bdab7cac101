/* Several ranks as threads of one process: the same code as with MPI, over a mailbox in memory. */
#include <pthread.h>

#include "base/memory.h"
#include "dist/agree.h"
#include "dist/bands.h"
#include "dist/internal.h"
#include "harness.h"

/* The mailbox: messages are copied when they are sent, and found when a receive is tested. */
typedef struct letter {
    struct letter *next;
    int from, to, tag;
    int64_t bytes;
    char data[];
} letter;

typedef struct errand {  /* a receive under way; freed when all ranks are done, for a failure leaves some behind */
    struct errand *next; /* an older one */
    int owner, from, tag;
    void *data;
    int64_t bytes;
    bool done;
} errand;

static pthread_mutex_t mail = PTHREAD_MUTEX_INITIALIZER;
static letter *letters;
static errand *errands;
static _Thread_local int me; /* the thread that answers questions is rank 0's */

static crd_status post(int to, int tag, const void *data, int64_t bytes, crd_message *out)
{
    letter *new = malloc(sizeof *new + (size_t)bytes), **end = &letters;
    if (new == NULL) return CRD_ERR_MEMORY;
    *new = (letter){.from = me, .to = to, .tag = tag, .bytes = bytes};
    memcpy(new->data, data, (size_t)bytes);
    pthread_mutex_lock(&mail);
    while (*end != NULL) end = &(*end)->next;
    *end = new;
    pthread_mutex_unlock(&mail);
    memset(out, 0, sizeof *out);
    return CRD_OK;
}

static crd_status expect(int from, int tag, void *data, int64_t bytes, crd_message *out)
{
    errand *new = malloc(sizeof *new);
    if (new == NULL) return CRD_ERR_MEMORY;
    *new = (errand){.owner = me, .from = from, .tag = tag, .data = data, .bytes = bytes};
    pthread_mutex_lock(&mail);
    new->next = errands;
    errands = new;
    pthread_mutex_unlock(&mail);
    memset(out, 0, sizeof *out);
    memcpy(out, &new, sizeof new);
    return CRD_OK;
}

static letter **find(int from, int tag)
{
    letter **place = &letters;
    while (*place != NULL && !((*place)->to == me && (*place)->tag == tag && (from < 0 || (*place)->from == from))) {
        place = &(*place)->next;
    }
    return place;
}

/* As MPI has it: of two receives for the same message, the older one gets it, whichever is tested first. */
static bool is_next(const errand *e)
{
    for (const errand *older = e->next; older != NULL; older = older->next) {
        if (!older->done && older->owner == e->owner && older->from == e->from && older->tag == e->tag) return false;
    }
    return true;
}

static crd_status look(crd_message *message, bool *done)
{
    errand *e;
    memcpy(&e, message, sizeof e);
    *done = true;
    if (e == NULL) return CRD_OK; /* it was sent */
    pthread_mutex_lock(&mail);
    letter **place = find(e->from, e->tag), *found = is_next(e) ? *place : NULL;
    if (found != NULL) *place = found->next;
    e->done = found != NULL;
    pthread_mutex_unlock(&mail);
    *done = found != NULL;
    if (found == NULL) return CRD_OK;
    memcpy(e->data, found->data, (size_t)(found->bytes < e->bytes ? found->bytes : e->bytes));
    free(found);
    memset(message, 0, sizeof *message);
    return CRD_OK;
}

static crd_status peek(int tag, bool *there, int *from, int64_t *bytes)
{
    pthread_mutex_lock(&mail);
    const letter *found = *find(-1, tag);
    *there = found != NULL;
    if (found != NULL) *from = found->from, *bytes = found->bytes;
    pthread_mutex_unlock(&mail);
    return CRD_OK;
}

static const crd_transport mailbox = {.send = post, .receive = expect, .test = look, .probe = peek};

/* Runs `work` on so many ranks; each returns whether all was as it should be. */
typedef bool work(crd_dist *dist);
typedef struct employee {
    pthread_t thread;
    crd_dist dist;
    work *job;
    bool fine;
} employee;

static void *run_rank(void *context)
{
    employee *e = context;
    me = e->dist.place.rank;
    e->fine = e->job(&e->dist);
    return NULL;
}

static bool on_ranks(int size, work *job)
{
    static employee staff[8];
    bool fine = true;
    memset(staff, 0, sizeof staff);
    for (int i = 0; i < size; i++) {
        employee *e = &staff[i];
        e->job = job;
        e->dist.transport = &mailbox;
        e->dist.place = (crd_place){.rank = i, .size = size, .local_rank = i, .local_size = size, .host = "here"};
        pthread_mutex_init(&e->dist.lock, NULL);
        if (pthread_create(&e->thread, NULL, run_rank, e) != 0) return false;
    }
    for (int i = 0; i < size; i++) {
        pthread_join(staff[i].thread, NULL);
        crd_dist_forget(&staff[i].dist);
        fine = fine && staff[i].fine;
    }
    for (letter *next; letters != NULL; letters = next) { /* what nobody read */
        next = letters->next;
        free(letters);
    }
    for (errand *next; errands != NULL; errands = next) {
        next = errands->next;
        free(errands);
    }
    return fine;
}

static void test_part(void)
{
    for (int size = 1; size < 9; size++) {
        for (int64_t count = 0; count < 20; count++) {
            int64_t at = 0, begin, end;
            for (int rank = 0; rank < size; rank++, at = end) {
                crd_dist_part(count, size, rank, &begin, &end);
                CHECK(begin == at && end - begin >= count / size && end - begin <= count / size + 1);
            }
            CHECK(at == count);
        }
    }
}

static void test_bands(void)
{
    static const int64_t rows[] = {0, 1, 2, 7, 100, 1000};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int ranks = 1; ranks < 20; ranks += 3) {
            crd_bands *bands;
            int64_t at = 0, last = rows[i];
            CHECK_OK(crd_bands_create(rows[i], ranks, &bands));
            for (crd_band band = crd_bands_next(bands); band.first < band.end; band = crd_bands_next(bands)) {
                CHECK(band.first == at && band.end - band.first <= last); /* smaller towards the end */
                CHECK(ranks > 1 || band.end == rows[i]);
                CHECK(!crd_bands_all_done(bands));
                CHECK(crd_bands_of_rows(bands)[band.first] == -1);
                crd_bands_done(bands, band);
                CHECK(crd_bands_of_rows(bands)[band.end - 1] == band.first);
                last = band.end - band.first;
                at = band.end;
            }
            CHECK(at == rows[i] && crd_bands_all_done(bands));
            CHECK(rows[i] == 0 || ranks == 1 || last == 1);
            crd_bands_free(&bands);
        }
    }
}

static bool talk(crd_dist *dist)
{
    const int rank = crd_dist_rank(dist), size = crd_dist_size(dist);
    int64_t own[2] = {rank, 100 - rank}, all[16] = {0}, word = rank == 0 ? 42 : 0;
    bool any = true, none = true, fine = true;
    for (int round = 0; round < 20; round++) { /* many: messages of one round must not meet those of another */
        word = rank == 0 ? 42 + round : 0;
        fine = fine && crd_dist_broadcast(dist, &word, sizeof word) == CRD_OK && word == 42 + round;
        fine = fine && crd_dist_share(dist, own, sizeof own, all) == CRD_OK;
        for (int i = 0; i < size; i++) fine = fine && all[2 * i] == i && all[2 * i + 1] == 100 - i;
        fine = fine && crd_dist_any(dist, rank == size - 1, &any) == CRD_OK && any;
        fine = fine && crd_dist_any(dist, false, &none) == CRD_OK && !none;
        fine = fine && crd_dist_barrier(dist) == CRD_OK;
    }
    return fine;
}

static void test_collective(void)
{
    static const int sizes[] = {1, 2, 3, 5, 8};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) CHECK(on_ranks(sizes[i], talk));
}

enum { LENGTH = 1001, MOST = 7 };

/* Numbers whose sum depends on the order. */
static float term(int64_t vector, int64_t i)
{
    return (float)((i * 7919 + vector * 104729) % 1000 - 500) * (vector % 3 == 0 ? 1e6f : 1e-3f);
}

static bool add_up(crd_dist *dist)
{
    static const int64_t counts[] = {MOST, 1, 3, 0};
    const int rank = crd_dist_rank(dist), size = crd_dist_size(dist);
    int64_t bounds[9] = {0};
    crd_dist_sum *sum = NULL;
    crd_shared_vector *vector = NULL;
    for (int i = 0; i < size; i++) bounds[i + 1] = i == 1 ? bounds[i] : LENGTH * (i + 1) / size; /* rank 1 gets none */
    bounds[size] = LENGTH;
    bool fine = crd_dist_sum_create(dist, MOST, LENGTH, bounds, &sum) == CRD_OK;
    fine = fine && crd_shared_vector_create(dist, LENGTH, &vector) == CRD_OK;
    for (size_t c = 0; fine && c < sizeof counts / sizeof counts[0]; c++) {
        const float *const *parts = NULL;
        float *out = crd_shared_vector_values(vector);
        int64_t begin, end;
        crd_dist_part(counts[c], size, rank, &begin, &end);
        fine = crd_dist_sum_begin(sum, counts[c]) == CRD_OK;
        for (int64_t v = begin; fine && v < end; v++) {
            for (int64_t i = 0; i < LENGTH; i++) crd_dist_sum_vector(sum, v)[i] = term(v, i);
            fine = crd_dist_sum_put(sum, v) == CRD_OK;
        }
        fine = fine && crd_dist_sum_parts(sum, &parts) == CRD_OK;
        for (int64_t i = bounds[rank]; fine && i < bounds[rank + 1]; i++) {
            out[i] = 0.0f;
            for (int64_t v = 0; v < counts[c]; v++) out[i] += parts[v][i - bounds[rank]];
        }
        fine = fine && crd_shared_vector_share(vector, bounds) == CRD_OK;
        for (int64_t i = 0; i < LENGTH; i++) {
            float expected = 0.0f;
            for (int64_t v = 0; v < counts[c]; v++) expected += term(v, i);
            fine = fine && memcmp(&expected, &out[i], sizeof expected) == 0;
        }
    }
    crd_dist_sum_free(&sum);
    crd_shared_vector_free(&vector);
    return fine;
}

static void test_sum(void)
{
    for (int size = 1; size <= 8; size++) CHECK(on_ranks(size, add_up));
}

static void count_up(void *context, int rank, const void *question, void *answer)
{
    int64_t *counter = context, step;
    (void)rank;
    memcpy(&step, question, sizeof step);
    *counter += step;
    memcpy(answer, counter, sizeof *counter);
}

static bool ask(crd_dist *dist)
{
    int64_t counter = 0, step = 1 + crd_dist_rank(dist), answer = 0, last = 0;
    crd_dist_questions *questions = NULL;
    bool fine = crd_dist_questions_open(dist, count_up, &counter, sizeof answer, &questions) == CRD_OK;
    for (int i = 0; i < 50; i++, last = answer) {
        fine = fine && crd_dist_ask(questions, &step, sizeof step, &answer) == CRD_OK && answer >= last + step;
    }
    fine = fine && crd_dist_barrier(dist) == CRD_OK;
    crd_dist_questions_close(&questions);
    const int64_t size = crd_dist_size(dist);
    return fine && (crd_dist_rank(dist) != 0 || counter == 50 * size * (size + 1) / 2);
}

static void test_questions(void)
{
    for (int size = 1; size <= 5; size += 2) CHECK(on_ranks(size, ask));
}

/* The last rank fails while the others wait, some for it, some for each other. */
static bool fail_one(crd_dist *dist)
{
    const int rank = crd_dist_rank(dist), size = crd_dist_size(dist);
    if (rank == size - 1) {
        (void)crd_fail(CRD_ERR_FORMAT, "a broken file");
        crd_dist_fail(dist);
        return strcmp(crd_last_error()->message, "a broken file") == 0 && crd_dist_barrier(dist) == CRD_ERR_FORMAT;
    }
    const crd_status first = crd_dist_barrier(dist), later = crd_dist_check(dist);
    crd_dist_fail(dist);
    return first == CRD_ERR_FORMAT && later == first &&
           strstr(crd_last_error()->message, "(here): a broken file") != NULL;
}

/* The same while vectors are on their way: nothing is read from memory that has gone. */
static bool fail_amid_sum(crd_dist *dist)
{
    const int rank = crd_dist_rank(dist), size = crd_dist_size(dist);
    const float *const *parts = NULL;
    int64_t bounds[9] = {0}, begin, end;
    crd_dist_sum *sum = NULL;
    for (int i = 0; i < size; i++) bounds[i + 1] = LENGTH * (i + 1) / size;
    crd_dist_part(MOST, size, rank, &begin, &end);
    bool fine = crd_dist_sum_create(dist, MOST, LENGTH, bounds, &sum) == CRD_OK;
    fine = fine && crd_dist_sum_begin(sum, MOST) == CRD_OK;
    for (int64_t v = begin; fine && v < end; v++) {
        if (v + 1 == MOST) {
            (void)crd_fail(CRD_ERR_FORMAT, "a broken file");
            crd_dist_fail(dist);
        } else {
            fine = crd_dist_sum_put(sum, v) == CRD_OK;
        }
    }
    const crd_status status = crd_dist_sum_parts(sum, &parts);
    crd_dist_fail(dist);
    crd_dist_sum_free(&sum);
    return fine && status == CRD_ERR_FORMAT;
}

static void test_failure(void)
{
    for (int size = 2; size <= 5; size++) CHECK(on_ranks(size, fail_one));
    for (int size = 2; size <= 5; size++) CHECK(on_ranks(size, fail_amid_sum));
}

static bool disagree(crd_dist *dist)
{
    const char *isa = NULL;
    int64_t threads = 0;
    bool fine = crd_dist_agree(dist, "settings", "the same") == CRD_OK;
    fine = fine && crd_dist_agree_isa(dist, NULL, &isa) == CRD_OK && isa != NULL;
    fine = fine && crd_dist_threads(dist, 3, &threads) == CRD_OK && threads == 3;
    fine = fine && crd_dist_threads(dist, 0, &threads) == CRD_OK && threads >= 1;
    fine = fine && crd_dist_agree(dist, "settings", crd_dist_rank(dist) == 1 ? "b" : "a") == CRD_ERR_MISMATCH;
    return fine && strstr(crd_last_error()->message, "rank 1 of the MPI job has other settings") != NULL;
}

static void test_agreement(void)
{
    CHECK(on_ranks(3, disagree));
}

TEST_MAIN(TEST(test_part), TEST(test_bands), TEST(test_collective), TEST(test_sum), TEST(test_questions),
          TEST(test_failure), TEST(test_agreement))
