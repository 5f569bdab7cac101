/* credence bench: how fast this machine runs the network. */
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "credence/bench.h"
#include "json.h"

typedef struct bench_options {
    int64_t chunk[3], halo, samples, batch, filters, classes;
    double seconds;
    char *kind, *estimator, *only, *max_gpu_memory, *scan, *label;
    int64_t readers;
    bool layers, unturned;
} bench_options;

#define AT(FIELD) .offset = offsetof(bench_options, FIELD)

static const crd_setting rows[] = {
    {.name = "chunk",
     .kind = CRD_SETTING_TRIPLE,
     AT(chunk),
     .check = cli_check_as_predict,
     .argument = "z,y,x",
     .low = 8,
     .high = 1048576,
     .group = "What is measured",
     .help = "size of the chunk; without it 48,88,88 (predict; on a GPU 88,176,176), 32,64,64 (train) or 48,96,96 "
             "(feed)"},
    {.name = "halo",
     .kind = CRD_SETTING_INT,
     AT(halo),
     .initial = "0",
     .low = 0,
     .high = 524288,
     .argument = "N",
     .help = "predict: as a tile of predict --mode seamless: only what lies so many voxels inside the chunk is asked "
             "for"},
    {.name = "samples",
     .kind = CRD_SETTING_INT,
     AT(samples),
     .initial = "48",
     .low = 1,
     .high = 100000,
     .argument = "N",
     .help = "predict: samples of each chunk"},
    {.name = "batch",
     .kind = CRD_SETTING_INT,
     AT(batch),
     .initial = "0",
     .low = 0,
     .high = 65536,
     .argument = "N",
     .help = "train and feed: chunks in a mini-batch; 0: 2 (train) or 4 (feed)"},
    {.name = "estimator",
     .kind = CRD_SETTING_CHOICE,
     AT(estimator),
     .initial = "flipout",
     .choices = "flipout|independent|mean",
     .help = "train: how weights are drawn"},
    {.name = "kind",
     .kind = CRD_SETTING_CHOICE,
     AT(kind),
     .initial = "bcnn",
     .choices = "bcnn|mcdn",
     .help = "the network's kind"},
    {.name = "filters",
     .kind = CRD_SETTING_INT,
     AT(filters),
     .initial = "16",
     .low = 4,
     .high = 1024,
     .argument = "N",
     .help = "base width of the network"},
    {.name = "classes",
     .kind = CRD_SETTING_INT,
     AT(classes),
     .initial = "2",
     .low = 2,
     .high = CRD_CLASSES_MAX,
     .argument = "K",
     .help = "predict, train and ops --layers: classes that the network tells apart"},
    {.name = "layers",
     .kind = CRD_SETTING_FLAG,
     AT(layers),
     .help = "ops: every layer of the network at its own size; predict on a GPU: where a chunk's time goes"},
    {.name = "max-gpu-memory",
     .kind = CRD_SETTING_TEXT,
     AT(max_gpu_memory),
     .initial = "auto",
     .argument = "SIZE",
     .help = "predict: memory that may be used of each GPU: 20G; auto: nine tenths of what is free"},
    {.name = "only",
     .kind = CRD_SETTING_TEXT,
     AT(only),
     .argument = "WORD",
     .help = "ops: operations whose name contains this"},
    {.name = "scan", .kind = CRD_SETTING_TEXT, AT(scan), .argument = "FILE", .help = "feed: the scan to read"},
    {.name = "label", .kind = CRD_SETTING_TEXT, AT(label), .argument = "FILE", .help = "feed: its label"},
    {.name = "readers",
     .kind = CRD_SETTING_INT,
     AT(readers),
     .initial = "1",
     .low = 1,
     .high = 64,
     .argument = "N",
     .help = "feed: threads that read"},
    {.name = "unturned",
     .kind = CRD_SETTING_FLAG,
     AT(unturned),
     .help = "feed: chunks as they are in the file, neither mirrored nor turned"},
    {.name = "seconds",
     .kind = CRD_SETTING_REAL,
     AT(seconds),
     .initial = "0",
     .low = 0,
     .high = 3600,
     .argument = "S",
     .help = "time to measure for; 0: 5 for predict, train and feed, 0.2 for each operation"},
};
static const crd_settings settings = {.title = "bench", .rows = rows, .count = sizeof rows / sizeof rows[0]};

/* ---- predict and train ---- */

static void json_result(const crd_bench_result *r, bool train)
{
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "device", r->device);
    cli_json_text(&json, "precision", r->precision);
    cli_json_ints(&json, "chunk", r->chunk, 3);
    if (r->halo > 0) cli_json_int(&json, "halo", r->halo);
    if (train) {
        cli_json_int(&json, "batch", r->batch);
        cli_json_text(&json, "estimator", r->estimator);
        cli_json_real(&json, "ms_per_step", r->milliseconds);
    } else {
        cli_json_int(&json, "samples", r->samples);
        cli_json_real(&json, "ms_per_chunk", r->milliseconds);
    }
    cli_json_real(&json, "gflops", r->gflops);
    cli_json_real(&json, "peak_gflops", r->peak_gflops);
    cli_json_int(&json, "peak_memory_bytes", r->peak_memory_bytes);
    cli_json_int(&json, "repetitions", r->repetitions);
    if (r->copy_gigabytes > 0.0) {
        cli_json_real(&json, "copy_gigabytes", r->copy_gigabytes);
        cli_json_int(&json, "device_memory_bytes", r->device_memory_bytes);
        cli_json_real(&json, "megahertz", r->megahertz);
        cli_json_real(&json, "watts", r->watts);
    }
    if (r->layer_count > 0) cli_json_open(&json, "layers", '[');
    for (int i = 0; i < r->layer_count; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "layer", r->layers[i].path);
        cli_json_real(&json, "milliseconds", r->layers[i].milliseconds);
        cli_json_real(&json, "gflops", r->layers[i].gflops);
        cli_json_close(&json);
    }
    if (r->layer_count > 0) cli_json_close(&json);
    cli_json_close(&json);
}

static void print_gpu(const crd_bench_result *r)
{
    printf(
        "\n%.1f TFLOP/s, %.0f%% of the %.0f that products of matrices alone reach; a copy within the GPU %.0f GB/s\n",
        1e-3 * r->gflops, 100.0 * r->gflops / r->peak_gflops, 1e-3 * r->peak_gflops, r->copy_gigabytes);
    printf("%.1f GiB of the GPU's memory, %.0f MiB of the process; mean of %" PRId64 " repetitions",
           (double)r->device_memory_bytes / 0x1p30, (double)r->peak_memory_bytes / 0x1p20, r->repetitions);
    if (r->watts > 0.0) printf("; %.0f MHz and %.0f W at the end", r->megahertz, r->watts);
    printf("\n");
    if (r->layer_count > 0) printf("\n%-14s %9s %9s\n", "layer", "ms", "TFLOP/s");
    for (int i = 0; i < r->layer_count; i++) {
        printf("%-14s %9.3f %9.1f\n", r->layers[i].path, r->layers[i].milliseconds, 1e-3 * r->layers[i].gflops);
    }
}

static void print_result(const crd_bench_result *r, bool train)
{
    printf("%s, %s, chunk %" PRId64 ",%" PRId64 ",%" PRId64 " (z,y,x): ", r->device, r->precision, r->chunk[0],
           r->chunk[1], r->chunk[2]);
    if (r->halo > 0) printf("without its halo of %" PRId64 ", ", r->halo);
    if (train) {
        printf("%.1f ms a step of %" PRId64 " chunk%s (%s)", r->milliseconds, r->batch, r->batch == 1 ? "" : "s",
               r->estimator);
    } else {
        printf("%.1f ms a chunk with %" PRId64 " sample%s", r->milliseconds, r->samples, r->samples == 1 ? "" : "s");
    }
    if (r->copy_gigabytes > 0.0) {
        print_gpu(r);
        return;
    }
    printf("\n%.0f GFLOP/s, where multiply-adds alone reach %.0f; %.0f MiB of memory; best of %" PRId64 "\n", r->gflops,
           r->peak_gflops, (double)r->peak_memory_bytes / 1048576.0, r->repetitions);
}

static int run_network(const cli_context *context, bool train)
{
    const bench_options *o = context->options;
    const crd_bench_network_settings network = {.device = context->common->device,
                                                .precision = context->common->precision,
                                                .isa = context->common->isa,
                                                .threads = (int)context->common->threads,
                                                .seconds = o->seconds,
                                                .kind = strcmp(o->kind, "mcdn") == 0 ? CRD_MCDN : CRD_BCNN,
                                                .filters = (int)o->filters,
                                                .classes = (int)o->classes,
                                                .chunk = {o->chunk[0], o->chunk[1], o->chunk[2]},
                                                .halo = train ? 0 : o->halo,
                                                .samples = o->samples,
                                                .batch = o->batch,
                                                .estimator = o->estimator,
                                                .max_gpu_memory = o->max_gpu_memory,
                                                .layers = o->layers};
    crd_bench_result result;
    const crd_status status = train ? crd_bench_train(&network, context->monitor, &result)
                                    : crd_bench_predict(&network, context->monitor, &result);
    if (status != CRD_OK) return cli_library_failed();
    if (context->common->json) {
        json_result(&result, train);
    } else {
        print_result(&result, train);
    }
    return CLI_DONE;
}

/* ---- ops ---- */

static void json_machine(void *context, const crd_bench_machine *machine)
{
    cli_json *json = context;
    cli_json_text(json, "device", machine->isa);
    cli_json_int(json, "threads", machine->threads);
    cli_json_real(json, "peak_gflops", machine->peak_gflops);
    cli_json_real(json, "copy_gigabytes", machine->copy_gigabytes);
    cli_json_open(json, "operations", '[');
}

static void json_row(void *context, const crd_bench_row *row)
{
    cli_json *json = context;
    cli_json_open(json, NULL, '{');
    if (row->layer != NULL) cli_json_text(json, "layer", row->layer);
    cli_json_text(json, "operation", row->operation);
    cli_json_text(json, "size", row->size);
    cli_json_real(json, "milliseconds", row->milliseconds);
    cli_json_real(json, "gflops", row->gflops);
    cli_json_real(json, "peak_share", row->peak_share);
    cli_json_real(json, "gigabytes", row->gigabytes);
    cli_json_close(json);
}

static void print_machine(void *context, const crd_bench_machine *machine)
{
    (void)context;
    printf("%s, %d thread%s: %.0f GFLOP/s of multiply-adds alone, %.1f GB/s copied\n\n", machine->isa, machine->threads,
           machine->threads == 1 ? "" : "s", machine->peak_gflops, machine->copy_gigabytes);
    printf("%-14s %-22s %-22s %9s %9s %7s %7s\n", "layer", "operation", "size", "ms", "GFLOP/s", "of peak", "GB/s");
}

static void print_row(void *context, const crd_bench_row *row)
{
    (void)context;
    printf("%-14s %-22s %-22s %9.3f %9.1f %6.0f%% %7.1f\n", row->layer != NULL ? row->layer : "-", row->operation,
           row->size, row->milliseconds, row->gflops, 100 * row->peak_share, row->gigabytes);
    fflush(stdout);
}

static int run_ops(const cli_context *context)
{
    const bench_options *o = context->options;
    if (strncmp(context->common->device, "cuda", 4) == 0) {
        return cli_usage(context->command,
                         "ops measures the operations on the CPU; for a GPU there are bench predict and bench train");
    }
    const bool as_json = context->common->json != 0;
    cli_json json = {.out = stdout};
    const crd_bench_ops_settings ops = {.isa = context->common->isa,
                                        .precision = context->common->precision,
                                        .threads = (int)context->common->threads,
                                        .seconds = o->seconds,
                                        .only = o->only,
                                        .layers = o->layers,
                                        .chunk = {o->chunk[0], o->chunk[1], o->chunk[2]},
                                        .filters = (int)o->filters,
                                        .classes = (int)o->classes};
    if (as_json) cli_json_open(&json, NULL, '{');
    const crd_status status =
        crd_bench_ops(&ops, as_json ? json_machine : print_machine, as_json ? json_row : print_row, &json);
    while (json.depth > 0) cli_json_close(&json);
    return status == CRD_OK ? CLI_DONE : cli_library_failed();
}

/* ---- feed ---- */

static void json_feed(const crd_bench_feed_result *r)
{
    cli_json json = {.out = stdout};
    cli_json_open(&json, NULL, '{');
    cli_json_ints(&json, "chunk", r->chunk, 3);
    cli_json_int(&json, "batch", r->batch);
    cli_json_int(&json, "readers", r->readers);
    cli_json_real(&json, "megavoxels_per_second", r->megavoxels);
    cli_json_int(&json, "chunks", r->examples);
    cli_json_real(&json, "seconds", r->seconds);
    cli_json_real(&json, "reading_seconds", r->reading_seconds);
    cli_json_real(&json, "copy_gigabytes", r->copy_gigabytes);
    cli_json_close(&json);
}

static int run_feed(const cli_context *context)
{
    const bench_options *o = context->options;
    const crd_bench_feed_settings feed = {.scan = o->scan,
                                          .label = o->label,
                                          .chunk = {o->chunk[0], o->chunk[1], o->chunk[2]},
                                          .batch = o->batch,
                                          .readers = o->readers,
                                          .unturned = o->unturned,
                                          .seconds = o->seconds};
    crd_bench_feed_result r;
    if (o->scan == NULL || o->label == NULL) {
        return cli_usage(context->command, "feed reads files: give --scan and --label");
    }
    if (crd_bench_feed(&feed, context->monitor, &r) != CRD_OK) return cli_library_failed();
    if (context->common->json) {
        json_feed(&r);
        return CLI_DONE;
    }
    printf("chunk %" PRId64 ",%" PRId64 ",%" PRId64 " (z,y,x), mini-batches of %" PRId64 ", %" PRId64
           " reader%s: %.0f million voxels a second\n%.0f per second of processor time; a copy in memory moves %.1f "
           "GB/s\n",
           r.chunk[0], r.chunk[1], r.chunk[2], r.batch, r.readers, r.readers == 1 ? "" : "s", r.megavoxels,
           r.megavoxels * r.seconds / r.reading_seconds, r.copy_gigabytes);
    return CLI_DONE;
}

static int run(cli_context *context)
{
    const char *what = context->arguments[0];
    const bench_options *o = context->options;
    if (o->filters % 4 != 0) { /* the groups of its norms */
        return cli_usage(context->command, "--filters must be a multiple of 4, not %" PRId64, o->filters);
    }
    if (strcmp(what, "predict") == 0) return run_network(context, false);
    if (strcmp(what, "train") == 0) return run_network(context, true);
    if (strcmp(what, "feed") == 0) return run_feed(context);
    if (strcmp(what, "ops") == 0) return run_ops(context);
    return cli_usage(context->command, "there is nothing called '%s' to measure; choose predict, train, feed or ops",
                     what);
}

const cli_command cli_bench = {
    .name = "bench",
    .summary = "throughput of this machine",
    .arguments = "predict|train|feed|ops",
    .least = 1,
    .most = 1,
    .settings = &settings,
    .options_size = sizeof(bench_options),
    .uses = CLI_USES_NETWORK | CLI_USES_THREADS | CLI_USES_JSON,
    .details =
        "predict times one chunk with all its samples, train one step on one mini-batch, feed how many voxels a "
        "second the readers of a training bring from a scan and its label, ops each operation alone, on the CPU. Times "
        "are those of the fastest repetition, on a GPU the mean of chunks that follow each other; "
        "GFLOP/s count plain convolutions, so that kernels "
        "which need fewer operations may pass the machine's own peak, which is measured beside them.",
    .examples = "credence bench predict --json\n"
                "credence bench train --chunk 16,32,32 --batch 4\n"
                "# do the files keep up with a GPU?\n"
                "credence bench feed --scan scan.tif --label label.tif --chunk 88,176,176 --batch 3 --readers 4\n"
                "# where the time goes, on a CPU and on a GPU\n"
                "credence bench ops --layers --chunk 48,88,88\n"
                "credence bench predict --device cuda --layers",
    .run = run,
};
