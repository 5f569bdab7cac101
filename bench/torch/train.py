#!/usr/bin/env python3
"""The network and the training of `credence train`, written in PyTorch: a twin to compare with, not part of credence.

    train.py scan.npy label.npy [--valid-scan S --valid-label L] [--steps 1500] [--seed 1] ...

Same layers, initial values, loss, optimiser, schedule and chunks; other random numbers. Prints one JSON object: the
validation cross entropy and accuracy with the weights at their means. Needs python3-torch and python3-numpy."""
import argparse
import json
import time

import numpy as np
import torch
import torch.nn.functional as F

EPSILON = 1.1920929e-7


class Layer(torch.nn.Module):
    """Convolution + bias -> ReLU -> group norm, or without the norm. Kernels are (out, in, z, y, x)."""

    def __init__(self, c_in, c_out, edge, bayesian, norm):
        super().__init__()
        shape, taps = (c_out, c_in, edge, edge, edge), edge ** 3
        self.edge, self.bayesian, self.norm = edge, bayesian, norm
        if bayesian:
            self.loc = torch.nn.Parameter(0.1 * torch.randn(shape))
            self.rho = torch.nn.Parameter(-3 + 0.1 * torch.randn(shape))
            self.bias = torch.nn.Parameter(0.1 * torch.randn(c_out))
        else:
            limit = (6 / (taps * (c_in + c_out))) ** 0.5
            self.loc = torch.nn.Parameter((2 * torch.rand(shape) - 1) * limit)
            self.bias = torch.nn.Parameter(torch.zeros(c_out))
        if norm:
            self.gamma, self.beta = torch.nn.Parameter(torch.ones(c_out)), torch.nn.Parameter(torch.zeros(c_out))

    def sigma(self):
        return F.softplus(self.rho) + EPSILON

    def kl(self, s):
        sigma = self.sigma()
        return (torch.log(s / sigma) + (sigma ** 2 + self.loc ** 2) / (2 * s * s) - 0.5).sum()

    def kernels(self, batch, estimator):
        """One kernel an example: (batch, out, in, z, y, x)."""
        if isinstance(estimator, int):  # a sample that was drawn beforehand
            return self.drawn[estimator:estimator + 1]
        mean = self.loc.expand(batch, *self.loc.shape)
        if estimator == "independent":
            return mean + self.sigma() * torch.randn_like(mean)
        signs = [torch.randint(0, 2, (batch, n), device=mean.device) * 2.0 - 1 for n in self.loc.shape[:2]]
        noise = self.sigma() * torch.randn_like(self.loc)
        return mean + noise * signs[0].view(batch, -1, 1, 1, 1, 1) * signs[1].view(batch, 1, -1, 1, 1, 1)

    def convolve(self, x, estimator):
        padding = self.edge // 2
        if self.edge == 2:
            x, padding = F.pad(x, (0, 1) * 3), 0
        if not self.bayesian or estimator == "mean":
            return F.conv3d(x, self.loc, self.bias, padding=padding)
        if estimator == "two-pass flipout":  # as it is usually written: for x, and for x with its signs changed
            signs = [torch.randint(0, 2, (len(x), n, 1, 1, 1), device=x.device).to(x) * 2 - 1
                     for n in self.loc.shape[:2]]
            noise = F.conv3d(x * signs[1], self.sigma() * torch.randn_like(self.loc), padding=padding)
            return F.conv3d(x, self.loc, self.bias, padding=padding) + noise * signs[0]
        k = self.kernels(len(x), estimator)
        return torch.cat([F.conv3d(x[i:i + 1], k[i], self.bias, padding=padding) for i in range(len(x))])

    def forward(self, x, estimator):
        x = self.convolve(x, estimator)
        x = F.relu(x) if self.edge > 1 else x
        return F.group_norm(x, 4, self.gamma, self.beta, 1e-5) if self.norm else x


class Net(torch.nn.Module):
    def __init__(self, kind, f):
        super().__init__()
        b = kind == "bcnn"
        self.kind = kind
        self.encoder = torch.nn.ModuleList()
        for c_in, c_out in ((1, f), (f, f), (f, 2 * f), (2 * f, 2 * f), (2 * f, 4 * f), (4 * f, 4 * f), (4 * f, 8 * f),
                            (8 * f, 8 * f)):
            self.encoder.append(Layer(c_in, c_out, 3, False, True))
        self.up, self.a, self.b, self.merge = (torch.nn.ModuleList() for _ in range(4))
        for c in (4 * f, 2 * f, f):
            self.up.append(Layer(2 * c, c, 2, b, True))
            self.merge.append(torch.nn.GroupNorm(4, 2 * c, 1e-5))
            self.a.append(Layer(2 * c, c, 3, b, True))
            self.b.append(Layer(c, c, 3, b, True))
        self.spatial, self.point = Layer(f, 1, 3, b, False), Layer(1, 1, 1, b, False)

    def drop(self, x, estimator):
        """Whole channels, half of them, where the network is a dropout network."""
        if self.kind == "bcnn" or estimator == "mean":
            return x
        return x * 2 * torch.randint(0, 2, (*x.shape[:2], 1, 1, 1), device=x.device)

    def encode(self, x):
        """The outputs of the encoder's four levels."""
        skips = []
        for level in range(4):
            x = self.encoder[2 * level + 1](self.encoder[2 * level](x, "mean"), "mean")
            skips.append(x)
            if level < 3:  # PyTorch 1.13 has no max pooling in bfloat16
                x = F.max_pool3d(x, 2) if x.dtype == torch.float32 else F.max_pool3d(x.float(), 2).to(x.dtype)
        return skips

    def decode(self, skips, estimator):
        """Logits."""
        x = self.drop(skips[3], estimator)
        for stage in range(3):
            x = self.up[stage](F.interpolate(x, scale_factor=2), estimator)
            x = self.merge[stage](torch.cat([skips[2 - stage], x], 1))
            x = self.drop(self.b[stage](self.a[stage](x, estimator), estimator), estimator)
        return self.point(self.spatial(x, estimator), estimator)

    def forward(self, x, estimator):
        return self.decode(self.encode(x), estimator)

    def kl(self, s):
        return sum((m.kl(s) for m in self.modules() if isinstance(m, Layer) and m.bayesian), torch.zeros(()))


def positions(n, w, step):
    stride = max(1, w // step)
    return sorted(set(range(0, n - w + 1, stride)) | {n - w})


def chunks(scan, label, size, step):
    """Views of the volumes, z slowest."""
    at = [positions(n, w, step) for n, w in zip(scan.shape, size)]
    cut = [np.s_[z:z + size[0], y:y + size[1], x:x + size[2]] for z in at[0] for y in at[1] for x in at[2]]
    return [(scan[c], label[c]) for c in cut]


def normalised(path):
    scan = np.load(path).astype(np.float64)
    return ((scan - scan.mean()) / scan.std()).astype(np.float32)


def stack(pairs, device):
    x = torch.tensor(np.stack([p[0] for p in pairs])[:, None]).to(device)
    return x, torch.tensor(np.stack([p[1] for p in pairs])[:, None].astype(np.float32)).to(device)


def evaluate(net, data, device):
    bce, right, count = 0.0, 0, 0
    with torch.no_grad():
        for pair in data:
            x, y = stack([pair], device)
            logit = net(x, "mean")
            bce += F.binary_cross_entropy_with_logits(logit, y, reduction="sum").item()
            right += ((logit > 0) == (y > 0.5)).sum().item()
            count += y.numel()
    return bce / count, right / count


def turned(pair, random):
    """Mirrored at random, and turned about z where the chunk is square."""
    bits = random.integers(0, 16)
    axes = tuple(axis for axis in range(3) if bits >> axis & 1)
    pair = [np.flip(v, axes) for v in pair]
    return [np.swapaxes(v, 1, 2) for v in pair] if bits & 8 and pair[0].shape[1] == pair[0].shape[2] else pair


def train(o):
    torch.manual_seed(o.seed)
    torch.set_num_threads(o.threads)
    device, size = torch.device(o.device), [int(n) for n in o.chunk.split(",")]
    data = chunks(normalised(o.scan), np.load(o.label), size, o.step)
    net, random = Net(o.kind, o.filters), np.random.default_rng(o.seed)
    net.to(device)
    optimiser = torch.optim.Adam(net.parameters(), o.lr, (0.9, 0.999), 1e-7)
    batches = (len(data) + o.batch - 1) // o.batch
    divisor = (o.kl_batches or batches) * o.kl_temperature
    begin, step, epoch = time.time(), 0, 0
    while step < o.steps:
        epoch, order = epoch + 1, random.permutation(len(data))
        weight = o.kl_initial if epoch <= o.kl_start else min(1.0, o.kl_initial + o.kl_step * (epoch - o.kl_start))
        rate = o.lr if o.lr_decay_start < 0 or epoch - 1 < o.lr_decay_start else o.lr * np.exp(
            -10 * o.lr * (epoch - 1 - o.lr_decay_start))
        for group in optimiser.param_groups:
            group["lr"] = rate
        for first in range(0, len(data), o.batch):
            pairs = [data[i] for i in order[first:first + o.batch]]
            x, y = stack([turned(p, random) for p in pairs] if o.augment == "flips" else pairs, device)
            loss = F.binary_cross_entropy_with_logits(net(x, o.estimator), y) + weight * net.kl(o.prior_std) / divisor
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            step += 1
            if step == o.steps:
                break
    result = {"kind": o.kind, "seed": o.seed, "steps": step, "epochs": epoch, "seconds": time.time() - begin}
    if o.valid_scan:
        result["valid_bce"], result["valid_accuracy"] = evaluate(
            net, chunks(normalised(o.valid_scan), np.load(o.valid_label), size, 1), device)
    return net, result


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("scan")
    p.add_argument("label")
    for name, value in (("valid-scan", ""), ("valid-label", ""), ("kind", "bcnn"), ("estimator", "flipout"),
                        ("chunk", "16,32,32"), ("step", 3), ("batch", 4), ("steps", 1500), ("lr", 3e-3),
                        ("lr-decay-start", -1), ("kl-initial", 0.5), ("kl-step", 0.5), ("kl-start", 1), ("kl-batches", 0),
                        ("kl-temperature", 100.0), ("prior-std", 1.0), ("filters", 16), ("augment", "none"), ("seed", 1),
                        ("threads", 2), ("device", "cpu")):
        p.add_argument("--" + name, type=type(value), default=value)
    return p


if __name__ == "__main__":
    print(json.dumps(train(options().parse_args())[1]))
