/* oneDNN's forward 3x3x3 convolution at one size, with the layouts of its own choice: the fastest of five, in
 * milliseconds.
 *
 *     onednn DEPTH HEIGHT WIDTH IN OUT f32|bf16 */
#include <math.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        if ((call) != dnnl_success) {                                                                                  \
            fprintf(stderr, "oneDNN refused: %s\n", #call);                                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Memory as the convolution wants it, with small numbers in it: zeros and denormals are no fair test. */
static dnnl_memory_t make(const_dnnl_primitive_desc_t convolution, dnnl_query_t what, int index, dnnl_engine_t engine)
{
    dnnl_memory_t memory;
    void *values;
    const dnnl_memory_desc_t *layout = dnnl_primitive_desc_query_md(convolution, what, index);
    const size_t bytes = dnnl_memory_desc_get_size(layout);
    MUST(dnnl_memory_create(&memory, layout, engine, DNNL_MEMORY_ALLOCATE));
    MUST(dnnl_memory_get_data_handle(memory, &values));
    if (layout->data_type == dnnl_f32) {
        for (size_t i = 0; i < bytes / 4; i++) ((float *)values)[i] = (float)(i % 17) / 17.0f - 0.45f;
    } else { /* the upper half of such a float32 */
        for (size_t i = 0; i < bytes / 2; i++) {
            const float value = (float)(i % 17) / 17.0f - 0.45f;
            memcpy((char *)values + 2 * i, (const char *)&value + 2, 2);
        }
    }
    return memory;
}

int main(int count, char **words)
{
    if (count != 7) {
        fprintf(stderr, "usage: onednn DEPTH HEIGHT WIDTH IN OUT f32|bf16\n");
        return 2;
    }
    const dnnl_dim_t depth = atoll(words[1]), height = atoll(words[2]), width = atoll(words[3]);
    const dnnl_dim_t in = atoll(words[4]), out = atoll(words[5]);
    const dnnl_data_type_t type = strcmp(words[6], "bf16") == 0 ? dnnl_bf16 : dnnl_f32;
    const dnnl_dims_t source = {1, in, depth, height, width}, kernel = {out, in, 3, 3, 3};
    const dnnl_dims_t result = {1, out, depth, height, width}, bias = {out}, ones = {1, 1, 1};
    dnnl_memory_desc_t layouts[4];
    dnnl_convolution_desc_t wanted;
    dnnl_primitive_desc_t chosen;
    dnnl_primitive_t convolution;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    MUST(dnnl_engine_create(&engine, dnnl_cpu, 0));
    MUST(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    MUST(dnnl_memory_desc_init_by_tag(&layouts[0], 5, source, type, dnnl_format_tag_any));
    MUST(dnnl_memory_desc_init_by_tag(&layouts[1], 5, kernel, type, dnnl_format_tag_any));
    MUST(dnnl_memory_desc_init_by_tag(&layouts[2], 1, bias, dnnl_f32, dnnl_x));
    MUST(dnnl_memory_desc_init_by_tag(&layouts[3], 5, result, type, dnnl_format_tag_any));
    MUST(dnnl_convolution_forward_desc_init(&wanted, dnnl_forward_inference, dnnl_convolution_direct, &layouts[0],
                                            &layouts[1], &layouts[2], &layouts[3], ones, ones, ones));
    MUST(dnnl_primitive_desc_create(&chosen, &wanted, NULL, engine, NULL));
    MUST(dnnl_primitive_create(&convolution, chosen));
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, make(chosen, dnnl_query_src_md, 0, engine)},
                                         {DNNL_ARG_WEIGHTS, make(chosen, dnnl_query_weights_md, 0, engine)},
                                         {DNNL_ARG_BIAS, make(chosen, dnnl_query_weights_md, 1, engine)},
                                         {DNNL_ARG_DST, make(chosen, dnnl_query_dst_md, 0, engine)}};
    double fastest = INFINITY;
    for (int i = 0; i < 6; i++) { /* the first one finds cold caches */
        const double begin = now();
        MUST(dnnl_primitive_execute(convolution, stream, 4, arguments));
        MUST(dnnl_stream_wait(stream));
        const double taken = now() - begin;
        if (i > 0 && taken < fastest) fastest = taken;
    }
    printf("%.3f\n", 1e3 * fastest);
    return 0;
}
