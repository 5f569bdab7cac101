// A solution from its voxels to its figures: the same steps as on the CPU (measure/transport/), so that both stop after
// as many. All of it lies on the device, 20.7 bytes a voxel: c, r, z, p, the links, 6/7 of a float for coarser grids,
// and a bit. An iteration is one CUDA graph, after which the host looks at what it found. All sums have an order that
// depends on the sizes alone, so a solution has the same bits every time.
#include "backend/cuda/transport/solver.cuh"

#include <math.h>
#include <string.h>

#include "backend/cuda/arena.cuh"
#include "backend/cuda/replay.cuh"
#include "backend/cuda/transport/field.cuh"
#include "backend/cuda/transport/fill.cuh"

namespace
{

enum { CUDA_ROOM = 32 << 20 /* for CUDA itself */ };

// What is solved, as far as memory goes by it.
struct Sizes {
    int64_t shape[3], words;
    int cell, axis; // axis -1: any
    bool conductivity;
};

class Solver
{
  public:
    ~Solver()
    {
        replay.forget();
        if (stream != nullptr) cudaStreamDestroy(stream);
        cudaFree(memory);
    }

    crd_status open(const crd_conduction_plan *p);
    crd_status fill();
    crd_status iterate(const crd_monitor *monitor, crd_conduction_result *out);
    crd_status compare_fluxes(crd_conduction_result *out);

    // Cuts up the memory; gives its bytes.
    int64_t lay_out(const Sizes &s, char *base);

  private:
    crd_status upload();
    crd_status launch();
    crd_status read_scalars(TransportScalars *out);

    const crd_conduction_plan *plan = nullptr;
    void *memory = nullptr;
    cudaStream_t stream = nullptr;
    Replay replay;
    TransportLevels levels = {};
    TransportVoxels voxels = {};
    TransportGrid *grids = nullptr; // on the device
    TransportScalars *scalars = nullptr;
    TransportSums pairs = {}, all = {}; // block sums over pairs of cells, over cells
    float *c = nullptr, *r = nullptr, *z = nullptr, *p = nullptr, *table = nullptr;
    uint64_t *bits = nullptr;
    uint8_t *numbers = nullptr;
    double *conductivity = nullptr, *fluxes = nullptr;
    int64_t flux_count = 0;
};

// An array with a slice of zeros before and behind it.
template <typename V> V *array_of(Arena &arena, const TransportGrid &g)
{
    V *all = arena.take<V>(g.count + 2 * g.slice);
    return all != nullptr ? all + g.slice : nullptr;
}

int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Cells of the largest of the faces that can have a value.
int64_t end_cells(const TransportGrid &g, int axis)
{
    if (axis >= 0) return g.count / g.size[axis];
    return largest(g.count / g.size[0], largest(g.count / g.size[1], g.count / g.size[2]));
}

void shape_grid(TransportGrid *g, const int64_t shape[3])
{
    for (int axis = 0; axis < 3; axis++) g->size[axis] = (int)shape[axis];
    g->slice = shape[1] * shape[2];
    g->count = shape[0] * g->slice;
}

int64_t Solver::lay_out(const Sizes &s, char *base)
{
    Arena arena = {base, 0};
    int64_t shapes[CRD_CONDUCTION_LEVELS][3], cells[3];
    const bool links = s.cell == 1 && !s.conductivity;
    for (int axis = 0; axis < 3; axis++) cells[axis] = (s.shape[axis] + s.cell - 1) / s.cell;
    levels.count = crd_conduction_shapes(cells, shapes);
    levels.tail = levels.count - 1;
    for (int level = 0; level < levels.count; level++) {
        TransportGrid *g = &levels.grids[level];
        shape_grid(g, shapes[level]);
        if (level > 0 && g->count <= TAIL_CELLS && level < levels.tail) levels.tail = level;
        if (level == 0 && links) {
            g->links = array_of<uint8_t>(arena, *g);
            continue;
        }
        for (int axis = 0; axis < 3; axis++) g->to[axis] = array_of<float>(arena, *g);
        for (int side = 0; side < 2; side++) g->ends[side] = arena.take<float>(end_cells(*g, s.axis));
        g->inverse = array_of<float>(arena, *g);
        if (level == 0) continue; // nothing to correct
        g->x = array_of<float>(arena, *g);
        g->b = array_of<float>(arena, *g);
    }
    const TransportGrid &finest = levels.grids[0];
    float **const fields[] = {&c, &r, &z, &p};
    for (float **field : fields) *field = array_of<float>(arena, finest);
    bits = arena.take<uint64_t>(s.shape[0] * s.shape[1] * s.words);
    if (s.conductivity) numbers = arena.take<uint8_t>(s.shape[0] * s.shape[1] * s.shape[2]);
    if (s.conductivity) conductivity = arena.take<double>(TRANSPORT_PHASES);
    table = arena.take<float>(256);
    grids = arena.take<TransportGrid>(CRD_CONDUCTION_LEVELS);
    scalars = arena.take<TransportScalars>(1);
    pairs.count = transport_block_count(transport_blocks(finest, (finest.size[2] + 1) / 2));
    all.count = transport_block_count(transport_blocks(finest, finest.size[2]));
    all.blocks = pairs.blocks = arena.take<double>(all.count);
    all.parts = pairs.parts = arena.take<double>(SUM_PARTS);
    flux_count = finest.size[0] * (int64_t)(s.axis == 2  ? finest.size[2]
                                            : s.axis < 0 ? largest(finest.size[1], finest.size[2])
                                                         : finest.size[1]);
    fluxes = arena.take<double>(flux_count);
    return arena.used;
}

crd_status Solver::open(const crd_conduction_plan *what)
{
    plan = what;
    const Sizes sizes = {{plan->shape[0], plan->shape[1], plan->shape[2]},
                         plan->words,
                         plan->cell,
                         plan->axis,
                         plan->numbers != nullptr};
    const int64_t bytes = lay_out(sizes, nullptr);
    const cudaError_t error = cudaMalloc(&memory, (size_t)bytes);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        memory = nullptr;
        return CUDA_FAIL(
            CRD_ERR_MEMORY,
            "transport needs %.0f MiB of the GPU's memory, which other programs or processes use; choose --device cpu",
            (double)bytes / 0x1p20);
    }
    CUDA_PASS(error);
    CUDA_PASS(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    lay_out(sizes, static_cast<char *>(memory));
    CUDA_PASS(cudaMemsetAsync(memory, 0, (size_t)bytes, stream));
    return CRD_OK;
}

crd_status Solver::upload()
{
    const int64_t count = plan->shape[0] * plan->shape[1] * plan->shape[2];
    const int64_t words = plan->shape[0] * plan->shape[1] * plan->words;
    float inverses[256];
    double conducts[TRANSPORT_PHASES] = {};
    TransportGrid &finest = levels.grids[0];
    for (int level = 0; level < levels.count; level++) {
        TransportGrid &g = levels.grids[level];
        g.axis = plan->axis;
        g.length = g.size[plan->axis];
        for (int axis = 0; axis < 3; axis++) g.unit[axis] = plan->unit[axis];
        g.end = 2.0f * plan->unit[plan->axis];
    }
    finest.table = table;
    transport_table(finest.unit, finest.end, inverses);
    for (int64_t i = 0; i < plan->conductivities && i < TRANSPORT_PHASES; i++) conducts[i] = plan->conductivity[i];
    // the host's arrays end with this call, so each copy is waited for
    CUDA_PASS(cudaMemcpyAsync(table, inverses, sizeof inverses, cudaMemcpyHostToDevice, stream));
    CUDA_PASS(cudaMemcpyAsync(grids, levels.grids, sizeof levels.grids, cudaMemcpyHostToDevice, stream));
    CUDA_PASS(cudaMemcpyAsync(bits, plan->voxels, (size_t)words * sizeof *bits, cudaMemcpyHostToDevice, stream));
    if (numbers != nullptr) {
        CUDA_PASS(cudaMemcpyAsync(numbers, plan->numbers, (size_t)count, cudaMemcpyHostToDevice, stream));
        CUDA_PASS(cudaMemcpyAsync(conductivity, conducts, sizeof conducts, cudaMemcpyHostToDevice, stream));
    }
    CUDA_PASS(cudaStreamSynchronize(stream));
    levels.on_device = grids;
    voxels = {{(int)plan->shape[0], (int)plan->shape[1], (int)plan->shape[2]},
              (int)plan->shape[plan->axis],
              plan->cell,
              plan->words,
              bits,
              numbers,
              conductivity};
    return CRD_OK;
}

crd_status Solver::fill()
{
    PASS(upload());
    PASS(transport_fill(voxels, levels.grids[0], c, stream));
    for (int level = 1; level < levels.count; level++) {
        PASS(transport_coarsen(levels.grids[level - 1], levels.grids[level], stream));
    }
    return transport_begin_residual(levels.grids[0], c, r, stream);
}

// An iteration. Where nothing is left to improve, alpha is 0.
crd_status Solver::launch()
{
    PASS(transport_cycle(levels, r, z, pairs.blocks, stream));
    PASS(transport_direction(levels.grids[0], pairs, scalars, z, p, stream));
    return transport_step(levels.grids[0], all, scalars, p, c, r, stream);
}

crd_status Solver::read_scalars(TransportScalars *out)
{
    CUDA_PASS(cudaMemcpyAsync(out, scalars, sizeof *out, cudaMemcpyDeviceToHost, stream));
    CUDA_PASS(cudaStreamSynchronize(stream));
    return CRD_OK;
}

crd_status stopped(const crd_monitor *monitor)
{
    const crd_progress progress = {"transport", "realisations", 0, 0, nullptr};
    if (monitor == nullptr || monitor->progress == nullptr || monitor->progress(monitor->context, &progress))
        return CRD_OK;
    return CUDA_FAIL(CRD_ERR_CANCELLED, "stopped while transport was computed");
}

crd_status Solver::iterate(const crd_monitor *monitor, crd_conduction_result *out)
{
    TransportScalars found = {};
    PASS(transport_dissipation(levels.grids[0], all, scalars, c, stream));
    PASS(read_scalars(&found));
    out->relative = found.dissipation * plan->scale;
    while (crd_conduction_goes_on(out)) {
        PASS(stopped(monitor));
        PASS(replay.run(stream, [this]() { return launch(); }));
        PASS(read_scalars(&found));
        if (!crd_conduction_fall(out, found.rz, found.curvature, plan->scale, plan->tolerance)) break;
    }
    PASS(transport_dissipation(levels.grids[0], all, scalars, c, stream));
    PASS(read_scalars(&found));
    out->relative = found.dissipation * plan->scale;
    return CRD_OK;
}

crd_status Solver::compare_fluxes(crd_conduction_result *out)
{
    const TransportGrid &g = levels.grids[0];
    const int layers = g.size[plan->axis], width = (int)(flux_count / g.size[0]);
    const auto sums = host_array<double>(layers), rows = host_array<double>(flux_count);
    double least = HUGE_VAL, most = 0.0, sum = 0.0;
    CUDA_NEED(sums && rows);
    PASS(transport_fluxes(g, c, fluxes, stream));
    CUDA_PASS(cudaMemcpyAsync(rows.get(), fluxes, (size_t)flux_count * sizeof *fluxes, cudaMemcpyDeviceToHost, stream));
    CUDA_PASS(cudaStreamSynchronize(stream));
    for (int64_t i = 0; i < flux_count; i++) sums[plan->axis == 0 ? i / width : i % width] += rows[i];
    for (int layer = 0; layer + 1 < layers; layer++) {
        least = sums[layer] < least ? sums[layer] : least;
        most = sums[layer] > most ? sums[layer] : most;
        sum += sums[layer];
    }
    out->uneven = sum > 0.0 ? (most - least) * (double)(layers - 1) / sum : 0.0;
    return CRD_OK;
}

} // namespace

crd_status cuda_transport_bytes(const crd_device_settings *settings, const int64_t shape[3], int cell,
                                bool conductivity, int64_t *bytes, int64_t *available)
{
    Solver solver;
    PASS(cuda_use_device(settings));
    PASS(cuda_available_bytes(settings, available));
    const Sizes sizes = {{shape[0], shape[1], shape[2]}, (shape[2] + 63) / 64, cell, -1, conductivity};
    *bytes = solver.lay_out(sizes, nullptr) + CUDA_ROOM;
    return CRD_OK;
}

crd_status cuda_transport_solve(const crd_device_settings *settings, const crd_conduction_plan *plan,
                                const crd_monitor *monitor, crd_conduction_result *result)
{
    Solver solver;
    *result = {};
    PASS(cuda_use_device(settings));
    PASS(stopped(monitor));
    PASS(solver.open(plan));
    PASS(solver.fill());
    PASS(solver.iterate(monitor, result));
    return solver.compare_fluxes(result);
}
