// Steps of training on the GPU: staging, draws, forward, backward, KL, Adam. While a step runs, the next mini-batch
// goes up on a stream of its own into the other half of the input. A step is one CUDA graph (replay.cuh), with what
// differs from one to the next in the device's memory.
#include "backend/cuda/train/learner.cuh"

#include <math.h>
#include <string.h>

#include <new>
#include <type_traits>

#include "backend/cuda/train/checks.cuh"
#include "backend/cuda/train/network.cuh"
#include "backend/cuda/train/weights.cuh"

enum { HALVES = 2 };

template <typename T> struct TrainLearner : Learner {
    crd_learner_plan plan;
    WeightPlan weights;
    TrainNet<T> network;
    int64_t voxels;
    cudaStream_t copy = nullptr;
    cudaEvent_t uploaded[HALVES] = {}, done = nullptr;
    char *memory = nullptr;

    // Device.
    float *parameters, *m, *v, *gradient_sum, *input[HALVES];
    uint8_t *label[HALVES];
    int *model_of_point;
    StepNumbers *numbers;
    double *kl_partial, *summary; // [2][kl_parts], [2]
    double *result;               // [batch][LOSS_SUMS], then the KL
    Checks checks;

    // Host, pinned.
    float *host_input[HALVES] = {};
    uint8_t *host_label[HALVES] = {};
    double *host_result = nullptr;
    StepNumbers *host_numbers = nullptr;
    Replays replays;       // by half, whether Adam's step is in it, and the number of examples
    bool at_means = false; // the network's weights are the means
    int half = 0;          // that the next step's examples go to
    bool running = false;
    int64_t running_count = 0; // examples of the step that runs

    TrainLearner(const crd_learner_plan &p, bool hopper, int64_t together) : plan(p)
    {
        weight_plan(plan.net, plan.seed, plan.estimator, &weights);
        network.describe(plan.net, plan.chunk, together, hopper);
        voxels = checks.voxels = network.voxels(1);
        checks.together = together < Checks::AT_ONCE ? (int)together : (int)Checks::AT_ONCE;
    }

    ~TrainLearner() override
    {
        network.close();
        if (copy != nullptr) cudaStreamSynchronize(copy);
        for (int i = 0; i < HALVES; i++) {
            cudaFreeHost(host_input[i]);
            cudaFreeHost(host_label[i]);
            if (uploaded[i] != nullptr) cudaEventDestroy(uploaded[i]);
        }
        cudaFreeHost(host_result);
        cudaFreeHost(host_numbers);
        if (done != nullptr) cudaEventDestroy(done);
        cudaFree(memory);
        if (copy != nullptr) cudaStreamDestroy(copy);
    }

    int64_t replay_count() const
    {
        return (int64_t)HALVES * 2 * (plan.batch + 1);
    }

    int64_t lay_out(char *base)
    {
        Arena arena = {base, 0};
        const int64_t count = plan.net->model.total;
        parameters = arena.take<float>(count);
        m = arena.take<float>(count);
        v = arena.take<float>(count);
        gradient_sum = arena.take<float>(count);
        model_of_point = arena.take<int>(plan.net->point.total);
        numbers = arena.take<StepNumbers>(1);
        kl_partial = arena.take<double>(2 * kl_parts(weights));
        summary = arena.take<double>(2);
        result = arena.take<double>(plan.batch * LOSS_SUMS + 1);
        for (int i = 0; i < HALVES; i++) {
            input[i] = arena.take<float>(plan.batch * voxels);
            label[i] = arena.take<uint8_t>(plan.batch * voxels);
        }
        checks.lay_out(arena);
        network.lay_out(arena, weights.signs);
        return arena.used;
    }

    int64_t host_bytes() const
    {
        return HALVES * plan.batch * voxels * 5 + (plan.batch * LOSS_SUMS + 1) * (int64_t)sizeof(double) +
               (int64_t)sizeof(StepNumbers) + Checks::host_bytes();
    }

    crd_status map_points()
    {
        const crd_net *net = plan.net;
        const auto map = host_array<int>(net->point.total);
        CUDA_NEED(map);
        for (int i = 0; i < net->point.count; i++) {
            const crd_parameter &to = net->point.parameters[i];
            for (int k = 0; k < net->model.count; k++) {
                const crd_parameter &from = net->model.parameters[k];
                const bool kernels =
                    to.role == CRD_ROLE_KERNEL && (from.role == CRD_ROLE_KERNEL || from.role == CRD_ROLE_LOC);
                if (from.layer != to.layer || (!kernels && from.role != to.role)) continue;
                for (int64_t j = 0; j < to.count; j++) map[to.offset + j] = (int)(from.offset + j);
            }
        }
        CUDA_PASS(
            cudaMemcpy(model_of_point, map.get(), (size_t)net->point.total * sizeof(int), cudaMemcpyHostToDevice));
        weights.model_of_point = model_of_point;
        return CRD_OK;
    }

    crd_status open() override
    {
        const int64_t bytes = lay_out(nullptr);
        PASS(network.open());
        CUDA_PASS(cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking));
        CUDA_PASS(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
        CUDA_PASS(cudaMalloc(&memory, (size_t)bytes));
        lay_out(memory);
        CUDA_PASS(cudaMemset(memory, 0, (size_t)bytes));
        for (int i = 0; i < HALVES; i++) {
            CUDA_PASS(cudaEventCreateWithFlags(&uploaded[i], cudaEventDisableTiming));
            CUDA_PASS(cudaMallocHost(&host_input[i], (size_t)(plan.batch * voxels) * sizeof(float)));
            CUDA_PASS(cudaMallocHost(&host_label[i], (size_t)(plan.batch * voxels)));
        }
        CUDA_PASS(cudaMallocHost(&host_result, (size_t)(plan.batch * LOSS_SUMS + 1) * sizeof(double)));
        CUDA_PASS(cudaMallocHost(&host_numbers, sizeof *host_numbers));
        PASS(checks.open());
        PASS(replays.open(replay_count()));
        PASS(map_points());
        CUDA_PASS(cudaDeviceSynchronize());
        return CRD_OK;
    }

    crd_status write(const float *from, const float *from_m, const float *from_v) override
    {
        const size_t bytes = (size_t)plan.net->model.total * sizeof(float);
        at_means = false;
        CUDA_PASS(cudaStreamSynchronize(network.stream));
        CUDA_PASS(cudaMemcpy(parameters, from, bytes, cudaMemcpyHostToDevice));
        CUDA_PASS(cudaMemcpy(m, from_m, bytes, cudaMemcpyHostToDevice));
        CUDA_PASS(cudaMemcpy(v, from_v, bytes, cudaMemcpyHostToDevice));
        return CRD_OK;
    }

    crd_status read(float *to, float *to_m, float *to_v) override
    {
        const size_t bytes = (size_t)plan.net->model.total * sizeof(float);
        CUDA_PASS(cudaStreamSynchronize(network.stream));
        CUDA_PASS(cudaMemcpy(to, parameters, bytes, cudaMemcpyDeviceToHost));
        if (to_m == nullptr) return CRD_OK;
        CUDA_PASS(cudaMemcpy(to_m, m, bytes, cudaMemcpyDeviceToHost));
        CUDA_PASS(cudaMemcpy(to_v, v, bytes, cudaMemcpyDeviceToHost));
        return CRD_OK;
    }

    crd_status stage(int64_t place, const float *from, const uint8_t *labels) override
    {
        if (place < 0 || place >= plan.batch)
            return CUDA_FAIL(CRD_ERR_INTERNAL, "there is no place %lld in the batch", (long long)place);
        const size_t first = (size_t)(place * voxels), count = (size_t)voxels;
        memcpy(host_input[half] + first, from, count * sizeof(float));
        memcpy(host_label[half] + first, labels, count);
        CUDA_PASS(cudaMemcpyAsync(input[half] + first, host_input[half] + first, count * sizeof(float),
                                  cudaMemcpyHostToDevice, copy));
        CUDA_PASS(cudaMemcpyAsync(label[half] + first, host_label[half] + first, count, cudaMemcpyHostToDevice, copy));
        return CRD_OK;
    }

    // In fp16 gradients are multiplied by a power of two, so that what one voxel adds to the loss is about one.
    static float loss_scale(float scale)
    {
        if (!std::is_same<T, __half>::value || !(scale > 0.0f)) return 1.0f;
        return exp2f(roundf(-log2f(scale)));
    }

    // All that the stream does for a step whose examples lie in one half of the input.
    crd_status launch(int now, int64_t count, bool from_zero, bool update)
    {
        cudaStream_t stream = network.stream;
        const bool dropout = plan.net->kind == CRD_MCDN && plan.estimator != CRD_MEAN;
        const int64_t total = plan.net->model.total;
        if (from_zero) CUDA_PASS(cudaMemsetAsync(gradient_sum, 0, (size_t)total * sizeof(float), stream));
        for (int64_t first = 0; first < count; first += network.together) {
            const int n = (int)(count - first < network.together ? count - first : network.together);
            const float *in = input[now] + first * voxels;
            PASS(weights_draw(weights, parameters, numbers, (uint32_t)first, network.point, network.signs,
                              network.masks, n, stream));
            PASS(network.forward(in, label[now] + first * voxels, dropout, &numbers->scale, n));
            PASS(network.backward(in, dropout, n));
            PASS(weights_back(weights, parameters, numbers, (uint32_t)first, network.point_gradient, network.signs,
                              gradient_sum, n, stream));
            CUDA_PASS(cudaMemcpyAsync(result + first * LOSS_SUMS, network.loss_result,
                                      (size_t)n * LOSS_SUMS * sizeof(double), cudaMemcpyDeviceToDevice, stream));
        }
        if (update) {
            PASS(weights_kl(weights, parameters, plan.prior, numbers, kl_partial, gradient_sum,
                            result + plan.batch * LOSS_SUMS, stream));
            PASS(weights_adam((long)total, numbers, gradient_sum, m, v, parameters, stream));
        }
        CUDA_PASS(cudaMemcpyAsync(host_result, result, (size_t)(plan.batch * LOSS_SUMS + 1) * sizeof(double),
                                  cudaMemcpyDeviceToHost, stream));
        return CRD_OK;
    }

    crd_status start(const crd_learner_step &step) override
    {
        const int now = half;
        const bool update = !step.gradient_only;
        cudaStream_t stream = network.stream;
        if (step.count < (step.gradient == nullptr) || step.count > plan.batch) {
            return CUDA_FAIL(CRD_ERR_INTERNAL, "a step has %lld examples", (long long)step.count);
        }
        CUDA_PASS(cudaEventRecord(uploaded[now], copy));
        CUDA_PASS(cudaStreamWaitEvent(stream, uploaded[now], 0));
        *host_numbers = step_numbers(step, loss_scale(step.scale)); // the step before is done
        CUDA_PASS(cudaMemcpyAsync(numbers, host_numbers, sizeof *numbers, cudaMemcpyHostToDevice, stream));
        if (step.gradient != nullptr) {
            CUDA_PASS(cudaMemcpyAsync(gradient_sum, step.gradient, (size_t)plan.net->model.total * sizeof(float),
                                      cudaMemcpyHostToDevice, stream));
            PASS(launch(now, step.count, false, update));
        } else {
            Replay &replay = replays[(now * 2 + update) * (plan.batch + 1) + step.count];
            PASS(replay.run(stream, [&] { return launch(now, step.count, true, update); }));
        }
        CUDA_PASS(cudaEventRecord(done, stream));
        at_means = false;
        running = true;
        running_count = step.count;
        half = 1 - half;
        return CRD_OK;
    }

    crd_status finish(crd_loss *losses, double *kl) override
    {
        if (!running) return CUDA_FAIL(CRD_ERR_INTERNAL, "no step was started");
        CUDA_PASS(cudaEventSynchronize(done));
        for (int64_t i = 0; i < running_count; i++) fill_loss(host_result + i * LOSS_SUMS, &losses[i]);
        *kl = host_result[plan.batch * LOSS_SUMS];
        running = false;
        return CRD_OK;
    }

    crd_status gradient(float *to) override
    {
        CUDA_PASS(cudaStreamSynchronize(network.stream));
        CUDA_PASS(cudaMemcpy(to, gradient_sum, (size_t)plan.net->model.total * sizeof(float), cudaMemcpyDeviceToHost));
        return CRD_OK;
    }

    // With the kernels at their means, which are the same for all chunks.
    crd_status run_checks()
    {
        cudaStream_t stream = network.stream;
        const int n = checks.loaded;
        if (n == 0) return CRD_OK;
        if (!at_means) PASS(weights_means(weights, parameters, network.point, network.together, stream));
        at_means = true;
        PASS(checks.replays[n].run(
            stream, [&] { return network.forward(checks.at_work.input, checks.at_work.label, false, nullptr, n); }));
        return checks.note(network.loss_result, stream);
    }

    crd_status check(int64_t number, const float *from, const uint8_t *labels, crd_loss *loss) override
    {
        PASS(checks.load(number, from, labels, loss, network.stream));
        return checks.full() ? run_checks() : CRD_OK;
    }

    crd_status checked() override
    {
        PASS(run_checks());
        return checks.collect(network.stream);
    }

    bool keeps(int64_t number) const override
    {
        return checks.keeps(number);
    }

    crd_status summarise(crd_posterior_summary *out) override
    {
        double sums[2];
        int64_t count = 0;
        *out = {};
        for (int i = 0; i < weights.layer_count; i++) count += weights.layers[i].count;
        if (count == 0) return CRD_OK;
        PASS(weights_summary(weights, parameters, kl_partial, summary, network.stream));
        CUDA_PASS(cudaMemcpyAsync(sums, summary, sizeof sums, cudaMemcpyDeviceToHost, network.stream));
        CUDA_PASS(cudaStreamSynchronize(network.stream));
        out->mean_sigma = sums[0] / (double)count;
        out->certain_share = sums[1] / (double)count;
        return CRD_OK;
    }
};

Learner *learner_new(const crd_learner_plan &plan, const Path &path, int64_t together)
{
    if (path.precision == CRD_PRECISION_F32) return new (std::nothrow) TrainLearner<float>(plan, false, together);
    if (path.precision == CRD_PRECISION_BF16)
        return new (std::nothrow) TrainLearner<__nv_bfloat16>(plan, path.hopper, together);
    return new (std::nothrow) TrainLearner<__half>(plan, path.hopper, together);
}

template <typename T>
static void sizes_of(const crd_learner_plan &plan, bool hopper, int64_t together, int64_t *device, int64_t *host)
{
    TrainLearner<T> learner(plan, hopper, together);
    *device = learner.lay_out(nullptr);
    *host = learner.host_bytes();
}

void learner_sizes(const crd_learner_plan &plan, const Path &path, int64_t together, int64_t *device, int64_t *host)
{
    if (path.precision == CRD_PRECISION_F32)
        sizes_of<float>(plan, false, together, device, host);
    else if (path.precision == CRD_PRECISION_BF16)
        sizes_of<__nv_bfloat16>(plan, path.hopper, together, device, host);
    else
        sizes_of<__half>(plan, path.hopper, together, device, host);
}
