/* A vector that all ranks fill together. */
#include "base/memory.h"
#include "dist/internal.h"

struct crd_dist_board {
    crd_dist *dist;
    float *values;
    crd_flight *flights;
};

crd_status crd_dist_board_create(crd_dist *dist, int64_t length, crd_dist_board **out)
{
    crd_status status = CRD_OK;
    crd_dist_board *board = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *board, "a vector of all ranks", &board));
    board->dist = dist;
    CRD_TRY(crd_alloc(length, sizeof(float), "a vector of all ranks", &board->values));
    CRD_TRY(crd_alloc(2 * crd_dist_size(dist), sizeof *board->flights, "messages", &board->flights));
    *out = board;
    board = NULL;
done:
    crd_dist_board_free(&board);
    return status;
}

void crd_dist_board_free(crd_dist_board **pointer)
{
    crd_dist_board *board = *pointer;
    if (board == NULL) return;
    crd_dist_release(board->dist, &board->values);
    crd_free(&board->flights);
    crd_free(pointer);
}

float *crd_dist_board_values(crd_dist_board *board)
{
    return board->values;
}

static int64_t bytes_of(const int64_t *bounds, int rank)
{
    return (bounds[rank + 1] - bounds[rank]) * (int64_t)sizeof(float);
}

crd_status crd_dist_board_share(crd_dist_board *board, const int64_t *bounds)
{
    crd_dist *dist = board->dist;
    const int rank = crd_dist_rank(dist), size = crd_dist_size(dist);
    int64_t flights = 0;
    CRD_PASS(crd_dist_check(dist));
    for (int other = 0; other < size; other++) {
        if (other == rank || bytes_of(bounds, other) == 0) continue;
        CRD_PASS(crd_dist_receive(dist, other, CRD_TAG_BOARD, board->values + bounds[other], bytes_of(bounds, other),
                                  &board->flights[flights++]));
    }
    for (int step = 1; step < size && bytes_of(bounds, rank) > 0; step++) { /* not all to the same one at once */
        CRD_PASS(crd_dist_send(dist, (rank + step) % size, CRD_TAG_BOARD, board->values + bounds[rank],
                               bytes_of(bounds, rank), &board->flights[flights++]));
    }
    return crd_dist_wait(dist, board->flights, flights);
}
