/* make_model FILE KIND FILTERS [z,y,x [SEED]]: a model with initial weights and a head that makes its answers lively,
 * for the tests that drive the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict_tools.h"

int main(int argc, char **argv)
{
    long long chunk[3] = {0, 0, 0};
    if (argc < 4 || (argc > 4 && sscanf(argv[4], "%lld,%lld,%lld", &chunk[0], &chunk[1], &chunk[2]) != 3)) {
        fprintf(stderr, "usage: make_model FILE bcnn|mcdn FILTERS [z,y,x [SEED]]\n");
        return 2;
    }
    const crd_model_info info = {.kind = strcmp(argv[2], "mcdn") == 0 ? CRD_MCDN : CRD_BCNN,
                                 .filters = atoi(argv[3]),
                                 .chunk = {chunk[0], chunk[1], chunk[2]}};
    if (tools_save_model(argv[1], &info, argc > 5 ? strtoull(argv[5], NULL, 10) : 7) == CRD_OK) return 0;
    fprintf(stderr, "make_model: %s\n", crd_last_error()->message);
    return 1;
}
