#!/usr/bin/env python3
"""Goes on with the training of a model in three ways, which `credence train` can't, and leaves the models beside it:

    last_part.py model.h5 scan.npy label.npy --arms chunk,running,frozen [--test NAME=FOLDER ...]

    chunk     the norms' statistics are those of each chunk, as before
    running   they are running means over the mini-batches, which go on moving
    frozen    they stay what they were over the first mini-batches of this part

chunk.h5, running.h5, frozen.h5 are credence's, with new weights. How they are with the statistics they were trained with, each test
volume computed at once, is printed as JSON, a line for each arm and test: `credence predict` takes statistics for every sample anew.
Needs PyTorch, NumPy and h5py."""
import argparse
import json
import os
import shutil

import h5py
import numpy as np
import torch
import torch.nn.functional as F

EPSILON = 1.1920929e-7
GROUPS = 4
RATE = .02  # at which running means move


class Norm(torch.nn.Module):
    """Group norm whose statistics are the example's own, or kept ones: mean and mean square of every group."""

    def __init__(self, gamma, beta):
        super().__init__()
        self.gamma, self.beta, self.way = torch.nn.Parameter(gamma), torch.nn.Parameter(beta), "chunk"
        self.register_buffer("mean", torch.zeros(GROUPS))
        self.register_buffer("square", torch.ones(GROUPS))
        self.seen = 0

    def track(self, x):
        with torch.no_grad():
            v = x.detach().float().reshape(len(x), GROUPS, -1)
            rate = max(RATE, 1 / (self.seen + 1))
            self.mean.lerp_(v.mean((0, 2)), rate)
            self.square.lerp_((v * v).mean((0, 2)), rate)
            self.seen += 1

    def forward(self, x):
        if self.way == "chunk":
            return F.group_norm(x, GROUPS, self.gamma.to(x.dtype), self.beta.to(x.dtype), 1e-5)
        if self.way == "watch":  # the chunk's own, but look at them
            self.track(x)
            return F.group_norm(x, GROUPS, self.gamma.to(x.dtype), self.beta.to(x.dtype), 1e-5)
        if self.way == "running":
            self.track(x)
        each = len(self.gamma) // GROUPS
        mean = self.mean.repeat_interleave(each)
        scale = self.gamma * torch.rsqrt((self.square.repeat_interleave(each) - mean ** 2).clamp_min(0) + 1e-5)
        shift = self.beta - mean * scale
        return x * scale.to(x.dtype).view(1, -1, 1, 1, 1) + shift.to(x.dtype).view(1, -1, 1, 1, 1)


class Layer(torch.nn.Module):
    def __init__(self, group, edge):
        super().__init__()
        self.bayesian, self.edge, self.drawn = "kernel_loc" in group, edge, None
        kernel = np.array(group["kernel_loc" if self.bayesian else "kernel"])
        self.loc = torch.nn.Parameter(torch.tensor(kernel).permute(4, 3, 0, 1, 2).contiguous())
        if self.bayesian:
            self.rho = torch.nn.Parameter(torch.tensor(np.array(group["kernel_rho"])).permute(4, 3, 0, 1, 2).contiguous())
        self.bias = torch.nn.Parameter(torch.tensor(np.array(group["bias"])))
        self.norm = norm_of(group) if "gamma" in group else None

    def sigma(self):
        return F.softplus(self.rho) + EPSILON

    def convolve(self, x):
        padding = self.edge // 2
        if self.edge == 2:
            x, padding = F.pad(x, (0, 1) * 3), 0
        bias = self.bias.to(x.dtype)
        if self.drawn is not None:
            return F.conv3d(x, self.drawn, bias, padding=padding)
        y = F.conv3d(x, self.loc.to(x.dtype), bias, padding=padding)
        if not self.bayesian:
            return y
        signs = [torch.randint(0, 2, (len(x), n, 1, 1, 1), device=x.device).to(x) * 2 - 1 for n in self.loc.shape[:2]]
        noise = (self.sigma() * torch.randn_like(self.loc)).to(x.dtype)
        return y + F.conv3d(x * signs[1], noise, padding=padding) * signs[0]  # Flipout

    def forward(self, x):
        x = self.convolve(x)
        x = F.relu(x) if self.edge > 1 else x
        return self.norm(x) if self.norm is not None else x


def norm_of(group):
    return Norm(torch.tensor(np.array(group["gamma"])), torch.tensor(np.array(group["beta"])))


class Net(torch.nn.Module):
    """The network of a model file."""

    def __init__(self, file):
        super().__init__()
        kind = file.attrs["kind"]
        self.kind = kind.decode() if isinstance(kind, bytes) else kind
        self.names = {}
        self.encoder, self.up, self.merge, self.a, self.b = (torch.nn.ModuleList() for _ in range(5))
        for level in (1, 2, 3, 4):
            for part in "ab":
                self.encoder.append(self.layer(file, f"encoder/{level}/{part}", 3))
        for level in (3, 2, 1):
            self.up.append(self.layer(file, f"decoder/{level}/up", 2))
            self.merge.append(norm_of(file[f"decoder/{level}/merge"]))
            self.names[f"decoder/{level}/merge"] = self.merge[-1]
            self.a.append(self.layer(file, f"decoder/{level}/a", 3))
            self.b.append(self.layer(file, f"decoder/{level}/b", 3))
        self.spatial, self.point = self.layer(file, "head/spatial", 3), self.layer(file, "head/point", 1)
        self.masks = None

    def layer(self, file, name, edge):
        self.names[name] = Layer(file[name], edge)
        return self.names[name]

    def drop(self, x, place):
        if self.kind == "bcnn":
            return x
        mask = self.masks[place] if self.masks else torch.randint(0, 2, (*x.shape[:2], 1, 1, 1), device=x.device)
        return x * (2 * mask).to(x.dtype)

    def forward(self, x):
        skips = []
        for level in range(4):
            x = self.encoder[2 * level + 1](self.encoder[2 * level](x if level == 0 else F.max_pool3d(x, 2)))
            skips.append(x)
        x = self.drop(x, 0)
        for stage in range(3):
            x = self.up[stage](F.interpolate(x, scale_factor=2))
            x = self.merge[stage](torch.cat([skips[2 - stage], x], 1))
            x = self.drop(self.b[stage](self.a[stage](x)), stage + 1)
        return self.point(self.spatial(x))

    def kl(self):
        total = 0
        for layer in self.modules():
            if isinstance(layer, Layer) and layer.bayesian:
                sigma = layer.sigma()
                total = total + (-torch.log(sigma) + (sigma ** 2 + layer.loc ** 2) / 2 - .5).sum()
        return total

    def set_way(self, way):
        for norm in self.modules():
            if isinstance(norm, Norm):
                norm.way = way

    def draw(self, dtype):
        """One network for all that follows."""
        for layer in self.modules():
            if isinstance(layer, Layer):
                noise = layer.sigma() * torch.randn_like(layer.loc) if layer.bayesian else 0
                layer.drawn = (layer.loc + noise).to(dtype)
        device = self.point.loc.device
        width = self.spatial.loc.shape[1]
        self.masks = [torch.randint(0, 2, (1, width * m, 1, 1, 1), device=device) for m in (8, 4, 2, 1)]

    def save(self, model, path):
        """A copy of the model with these weights; its checksum goes, as docs/MODEL.md asks."""
        shutil.copy(model, path)
        with h5py.File(path, "r+") as file:
            file.attrs.pop("checksum", None)
            for name, part in self.names.items():
                norm = part if isinstance(part, Norm) else part.norm
                values = {} if norm is None else {"gamma": norm.gamma, "beta": norm.beta}
                if isinstance(part, Layer):
                    values["bias"] = part.bias
                    values["kernel_loc" if part.bayesian else "kernel"] = part.loc.permute(2, 3, 4, 1, 0)
                    if part.bayesian:
                        values["kernel_rho"] = part.rho.permute(2, 3, 4, 1, 0)
                for key, value in values.items():
                    file[name][key][...] = value.detach().float().cpu().numpy()


def grey_scale(scan, how):
    """What is subtracted, and what it is divided by: mean and deviation, or the middle and half the distance of two levels."""
    if how == "scan":
        return scan.mean(dtype=np.float64), scan.std(dtype=np.float64)
    low, high = np.percentile(scan, [1, 99])
    reach = (high - low) / 2
    counts, edges = np.histogram(np.clip(scan, low - reach, high + reach), 4096)
    centre = (edges[1:] + edges[:-1]) / 2
    below, sums = np.cumsum(counts.astype(float)), np.cumsum(counts * centre)
    between = (sums[-1] * below / below[-1] - sums) ** 2 / (below * (below[-1] - below) + 1e-9)
    k = int(np.argmax(between[:-1]))  # Otsu's threshold
    dark, bright = sums[k] / below[k], (sums[-1] - sums[k]) / (below[-1] - below[k])
    return (dark + bright) / 2, (bright - dark) / 2


def blur(x, width):
    reach = min(4, int(np.ceil(3 * width)))
    at = torch.arange(-reach, reach + 1, device=x.device).float()
    kernel = torch.exp(-.5 * (at / width) ** 2)
    kernel = kernel / kernel.sum()
    for axis in range(3):
        shape, pad = [1] * 5, [0] * 6
        shape[2 + axis] = -1
        pad[2 * (2 - axis)] = pad[2 * (2 - axis) + 1] = reach
        x = F.conv3d(F.pad(x, pad, mode="replicate"), kernel.view(shape))
    return x


def change(x, rng, deviation):
    """The grey values of one example, as `--augment full` changes them."""
    u = rng.random(13)
    if u[12] < .5:
        return x
    if u[0] < .375 and u[1] > .1:
        x = blur(x, .8 * u[1])
    elif .375 <= u[0] < .5:
        x = x + .8 * u[1] * (x - blur(x, 1.))
    if u[2] < .5:
        bend, inside = .15 * (2 * u[3] - 1), x.clamp(-1, 1)
        x = inside + bend * (1 - inside * inside) + (x - inside) * (1 - 2 * bend * inside)
    if u[4] < .5:
        x = np.exp(.15 * (2 * u[5] - 1)) * x + .1 * (2 * u[6] - 1)
    if u[7] < .5:
        for axis in range(3):
            n, w, shape = x.shape[2 + axis], rng.random(3), [1] * 5
            shape[2 + axis] = -1
            at = torch.arange(n, device=x.device).float()
            x = x + (.1 * w[0] * torch.cos(2 * np.pi * (at / (n * (.5 + 3.5 * w[1])) + w[2]))).view(shape)
    if u[8] < .5:
        noise = torch.randn_like(x)
        if u[9] < .5:
            noise = blur(noise, .5 + .7 * u[10])
            noise = noise / noise.std()
        x = x + .67 * deviation * u[11] * noise
    return x


class Data:
    def __init__(self, options, how, device):
        scan = np.load(options.scan).astype(np.float32)
        middle, unit = grey_scale(scan, how)
        self.x = torch.tensor((scan - middle) / unit, dtype=torch.float32, device=device)
        self.y = torch.tensor(np.load(options.label), device=device).float()
        self.deviation, self.chunk, self.batch = float(self.x.std()), options.chunk, options.batch
        self.full, self.rng = options.augment == "full", np.random.default_rng(options.seed)

    def next(self):
        xs, ys = [], []
        for _ in range(self.batch):
            at = [int(self.rng.integers(0, size - edge + 1)) for size, edge in zip(self.x.shape, self.chunk)]
            box = tuple(slice(a, a + edge) for a, edge in zip(at, self.chunk))
            flips = [axis for axis in range(3) if self.rng.random() < .5]
            x, y = self.x[box].flip(flips), self.y[box].flip(flips)
            if self.rng.random() < .5:
                x, y = x.transpose(1, 2), y.transpose(1, 2)
            x = x[None, None]
            xs.append(change(x, self.rng, self.deviation) if self.full else x)
            ys.append(y[None, None])
        return torch.cat(xs).contiguous(memory_format=torch.channels_last_3d), torch.cat(ys)


def train(net, data, arm, options, amp):
    optimiser = torch.optim.Adam(net.parameters(), lr=options.lr, eps=1e-7)
    settle = min(100, options.steps // 4)
    for step in range(options.steps):
        net.set_way("watch" if step < settle else {"frozen": "kept"}.get(arm, arm))
        x, y = data.next()
        with torch.autocast(**amp):
            logits = net(x)
        loss = F.binary_cross_entropy_with_logits(logits.float(), y)
        if net.kind == "bcnn":
            loss = loss + net.kl() / (1638 * 100.)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()


def figures(samples, truth):
    """As `credence validate` has them: interval 33-67, patches of 2^3."""
    mean = samples.mean(0).clamp(1e-7, 1 - 1e-7)
    right = ((mean > .5) == (truth > .5)).float()
    ordered = samples.sort(0).values
    low, high = ((len(samples) - 1) * q for q in (.33, .67))
    edges = [ordered[int(at)].lerp(ordered[min(int(at) + 1, len(samples) - 1)], at - int(at)) for at in (low, high)]
    width = edges[1] - edges[0]
    patches = [F.avg_pool3d(v[None, None], 2, 1) for v in (right, width)]
    wrong = patches[0] < .875
    doubt = patches[1] > width.mean()
    return {"accuracy": float(right.mean()), "nll": float(F.binary_cross_entropy(mean, truth)),
            "p_u_given_i": float((wrong & doubt).sum() / wrong.sum()), "uncertainty": float(width.mean()),
            "p_a_given_c": float((~wrong & ~doubt).sum() / (~doubt).sum()),
            "fraction": float((samples > .5).float().mean()), "fraction_mean": float(mean.mean()), "truth": float(truth.mean())}


@torch.no_grad()
def judge(net, folder, how, options, device, calibration):
    """One test volume with the statistics that were kept."""
    scan = np.load(folder + "/scan.npy").astype(np.float32)
    middle, unit = grey_scale(scan, how)
    dtype = torch.float16 if device == "cuda" else torch.float32
    x = torch.tensor((scan - middle) / unit, dtype=dtype, device=device)[None, None]
    x = x.contiguous(memory_format=torch.channels_last_3d)
    net.set_way("kept")
    samples = []
    for _ in range(options.samples):
        net.draw(dtype)
        samples.append(torch.sigmoid(net(x).float()[0, 0] / calibration))
    for layer in net.modules():
        if isinstance(layer, Layer):
            layer.drawn = None
    net.masks = None
    return figures(torch.stack(samples), torch.tensor(np.load(folder + "/truth.npy"), device=device).float())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("scan")
    parser.add_argument("label")
    parser.add_argument("--arms", default="chunk,running,frozen")
    parser.add_argument("--augment", choices=("flips", "full"), default="full")
    parser.add_argument("--chunk", type=lambda text: tuple(map(int, text.split(","))), default=(32, 64, 64))
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--test", action="append", default=[], metavar="NAME=FOLDER")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.set_num_threads(2)
    amp = {"device_type": options.device, "dtype": torch.bfloat16, "enabled": options.device == "cuda"}
    for arm in options.arms.split(","):
        torch.manual_seed(options.seed)
        with h5py.File(options.model) as file:
            net = Net(file).to(options.device).to(memory_format=torch.channels_last_3d)
            how = file.attrs["norm"]
            calibration = float(np.ravel(file.attrs.get("calibration", 1))[0])
        how = how.decode() if isinstance(how, bytes) else how
        train(net, Data(options, how, options.device), arm, options, amp)
        part = os.path.join(os.path.dirname(os.path.abspath(options.model)), arm + ".h5")
        net.save(options.model, part + ".part")
        os.replace(part + ".part", part)
        for test in options.test if arm != "chunk" else []:
            name, folder = test.split("=", 1)
            print(json.dumps({"arm": arm, "test": name, **judge(net, folder, how, options, options.device, calibration)}),
                  flush=True)


if __name__ == "__main__":
    main()
