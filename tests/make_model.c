/* make_model FILE KIND FILTERS [z,y,x [SEED [dead]]]: a model with initial weights and a head that makes its answers
 * lively, or a dead one, for the tests that drive the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict_tools.h"

int main(int argc, char **argv)
{
    long long chunk[3] = {0, 0, 0};
    if (argc < 4 || (argc > 4 && sscanf(argv[4], "%lld,%lld,%lld", &chunk[0], &chunk[1], &chunk[2]) != 3)) {
        fprintf(stderr, "usage: make_model FILE bcnn|mcdn FILTERS [z,y,x [SEED [dead]]]\n");
        return 2;
    }
    const crd_model_info info = {.kind = strcmp(argv[2], "mcdn") == 0 ? CRD_MCDN : CRD_BCNN,
                                 .filters = atoi(argv[3]),
                                 .chunk = {chunk[0], chunk[1], chunk[2]}};
    const bool dead = argc > 6 && strcmp(argv[6], "dead") == 0;
    if (tools_save_prepared(argv[1], &info, argc > 5 ? strtoull(argv[5], NULL, 10) : 7,
                            dead ? tools_kill_head : tools_enliven) == CRD_OK)
        return 0;
    fprintf(stderr, "make_model: %s\n", crd_last_error()->message);
    return 1;
}
