#!/usr/bin/env python3
"""Times PyTorch at what `credence bench` times, with the network of train.py: the peer of docs/BENCHMARKS.md.

    speed.py predict [--procedure paper|once] [--precision f32|bf16] [--chunk 48,88,88] [--samples 48]
    speed.py train [--estimator flipout|two-pass flipout|independent] [--chunk 32,64,64] [--batch 2]

`paper` runs the whole network for each sample, with flipout as it is usually written (two convolutions a layer); `once`
runs the encoder once a chunk and the decoder with weights that were drawn beforehand. Both end with mean and
percentiles 33 and 67 over the samples. Prints one JSON object; the time is that of the fastest repetition. compare.sh
calls this with the settings that suit PyTorch best."""
import argparse
import json
import time

import numpy as np
import torch
import torch.nn.functional as F

from train import Layer, Net


def draw(net, samples):
    """Kernels of all samples, once."""
    for layer in net.modules():
        if isinstance(layer, Layer) and layer.bayesian:
            layer.drawn = layer.kernels(samples, "independent")


def summary(samples):
    """Mean and percentiles. NumPy's partition was the fastest of sort, quantile, kthvalue and NumPy's percentile."""
    values = torch.stack(samples, 1).numpy()
    place = np.array([0.33, 0.67]) * (len(samples) - 1)
    below = place.astype(int)
    above = np.minimum(below + 1, len(samples) - 1)
    part = (place - below).astype(np.float32)
    ordered = np.partition(values, sorted({*below, *above}), axis=1)
    return values.mean(1), ordered[:, below] + (ordered[:, above] - ordered[:, below]) * part


def predict(o, net, chunk):
    type_ = torch.bfloat16 if o.precision == "bf16" else torch.float32
    net, x = net.to(type_), (2 * torch.rand(1, 1, *chunk) - 1).to(type_)

    def run():
        skips, samples = net.encode(x) if o.procedure == "once" else None, []
        for i in range(o.samples):
            logit = net.decode(skips, i) if o.procedure == "once" else net(x, "two-pass flipout")
            samples.append(torch.sigmoid(logit.float()).flatten())
        return summary(samples)

    with torch.inference_mode():
        draw(net, o.samples)
        net(x, "mean")
        return fastest(run, o.repeat)


def train(o, net, chunk):
    x, y = 2 * torch.rand(o.batch, 1, *chunk) - 1, torch.randint(0, 2, (o.batch, 1, *chunk)).float()
    optimiser = torch.optim.Adam(net.parameters(), 1e-4, (0.9, 0.999), 1e-7)

    def run():
        loss = F.binary_cross_entropy_with_logits(net(x, o.estimator), y) + 1e-6 * net.kl(1.0)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    run()
    return fastest(run, o.repeat)


def fastest(run, repeat):
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=("predict", "train"))
    p.add_argument("--procedure", choices=("paper", "once"), default="paper")
    p.add_argument("--estimator", default="flipout")
    p.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    p.add_argument("--chunk")
    for name, value in (("samples", 48), ("batch", 2), ("threads", 2), ("repeat", 2), ("filters", 16)):
        p.add_argument("--" + name, type=int, default=value)
    o = p.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(o.threads)
    chunk = [int(n) for n in (o.chunk or ("48,88,88" if o.what == "predict" else "32,64,64")).split(",")]
    seconds = (predict if o.what == "predict" else train)(o, Net("bcnn", o.filters), chunk)
    result = {"what": o.what, "torch": torch.__version__, "threads": o.threads, "precision": o.precision,
              "chunk": chunk, "milliseconds": 1e3 * seconds}
    result.update({"procedure": o.procedure, "samples": o.samples} if o.what == "predict" else
                  {"estimator": o.estimator, "batch": o.batch})
    print(json.dumps(result))


if __name__ == "__main__":
    main()
