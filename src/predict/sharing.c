#include "predict/sharing.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

static const double telling_interval = 1.0; /* seconds */

typedef struct question {
    int64_t first, end; /* a band that is done */
    int64_t chunks;     /* of this process, so far */
    int64_t next;       /* is another band wanted? */
} question;

typedef struct answer {
    crd_band next;
    int64_t chunks; /* of all */
    int64_t over;
    int64_t bands[]; /* by row: the first row of the band it was done in, or -1 */
} answer;

struct crd_sharing {
    crd_dist *dist;
    crd_dist_questions *questions;
    const crd_request *request;
    const int64_t *rows;
    int64_t row_count, answer_bytes;
    answer *last;
    double told;
    /* Of rank 0, touched by one question at a time. */
    crd_bands *bands;
    int64_t *chunks; /* by rank */
};

static void answer_question(void *context, int rank, const void *asked, void *reply)
{
    crd_sharing *s = context;
    const question *q = asked;
    answer *a = reply;
    crd_bands_done(s->bands, (crd_band){q->first, q->end});
    s->chunks[rank] = q->chunks;
    memset(a, 0, sizeof *a);
    if (q->next) a->next = crd_bands_next(s->bands);
    for (int i = 0; i < crd_dist_size(s->dist); i++) a->chunks += s->chunks[i];
    a->over = crd_bands_all_done(s->bands);
    memcpy(a->bands, crd_bands_of_rows(s->bands), (size_t)s->row_count * sizeof a->bands[0]);
}

crd_status crd_sharing_open(crd_dist *dist, const crd_request *request, const int64_t *rows, int64_t row_count,
                            crd_sharing **out)
{
    crd_status status = CRD_OK;
    crd_sharing *s = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *s, "the shares", &s));
    *s = (crd_sharing){.dist = dist, .request = request, .rows = rows, .row_count = row_count};
    s->answer_bytes = (int64_t)(sizeof(answer) + (size_t)row_count * sizeof(int64_t));
    CRD_TRY(crd_alloc(s->answer_bytes, 1, "the shares", &s->last));
    CRD_TRY(crd_bands_create(row_count, crd_dist_size(dist), &s->bands));
    CRD_TRY(crd_alloc(crd_dist_size(dist), sizeof *s->chunks, "the shares", &s->chunks));
    CRD_TRY(crd_dist_questions_open(dist, answer_question, s, s->answer_bytes, &s->questions));
    *out = s;
    s = NULL;
done:
    crd_sharing_close(&s);
    return status;
}

void crd_sharing_close(crd_sharing **pointer)
{
    crd_sharing *s = *pointer;
    if (s == NULL) return;
    crd_dist_questions_close(&s->questions);
    crd_bands_free(&s->bands);
    crd_free(&s->chunks);
    crd_free(&s->last);
    crd_free(pointer);
}

static crd_status ask(crd_sharing *s, const question *q)
{
    s->told = crd_seconds();
    return crd_dist_ask(s->questions, q, (int64_t)sizeof *q, s->last);
}

crd_status crd_sharing_next(crd_sharing *s, crd_band done, int64_t chunks, crd_band *next)
{
    const question q = {.first = done.first, .end = done.end, .chunks = chunks, .next = 1};
    CRD_PASS(ask(s, &q));
    *next = s->last->next;
    return CRD_OK;
}

/* The table of finished bands that came with the last band stays as it was: bands_of must not see later ones. */
crd_status crd_sharing_tell(crd_sharing *s, int64_t chunks, int64_t *all, bool *over)
{
    crd_status status = CRD_OK;
    const question q = {.chunks = chunks};
    answer *reply = NULL;
    CRD_PASS(crd_dist_check(s->dist));
    *all = chunks;
    *over = false;
    if (crd_dist_rank(s->dist) != 0 && crd_seconds() - s->told < telling_interval) return CRD_OK;
    CRD_TRY(crd_alloc(s->answer_bytes, 1, "an answer", &reply));
    s->told = crd_seconds();
    CRD_TRY(crd_dist_ask(s->questions, &q, (int64_t)sizeof q, reply));
    *all = reply->chunks;
    *over = reply->over != 0;
done:
    crd_free(&reply);
    return status;
}

bool crd_sharing_at_edge(const crd_sharing *s, crd_band band, int64_t z)
{
    int64_t begin, end;
    if (band.first > 0) { /* kept ranges rise with the row */
        crd_request_row(s->request, s->rows[band.first - 1], &begin, &end);
        if (z < end) return true;
    }
    if (band.end == s->row_count) return false;
    crd_request_row(s->request, s->rows[band.end], &begin, &end);
    return z >= begin;
}

int64_t crd_sharing_bands_of(const crd_sharing *s, int64_t z, int64_t bands[CRD_SHARING_BANDS])
{
    int64_t count = 0, low = 0, high = s->row_count;
    while (low < high) { /* the first row that ends after z */
        const int64_t middle = low + (high - low) / 2;
        int64_t begin, end;
        crd_request_row(s->request, s->rows[middle], &begin, &end);
        if (end <= z) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (int64_t row = low; row < s->row_count; row++) {
        int64_t begin, end;
        crd_request_row(s->request, s->rows[row], &begin, &end);
        if (begin > z) break;
        const int64_t band = s->last->bands[row];
        if (band < 0 || count == CRD_SHARING_BANDS) return 0;
        if (count == 0 || bands[count - 1] != band) bands[count++] = band;
    }
    return count;
}
