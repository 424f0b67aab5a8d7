#!/usr/bin/env python3
"""Writes TorchScript modules that `dedloc run create --module` takes: a small GPT on windows of
token ids, a small ConvNet on tensors of pictures with a class each, an autoencoder on pictures.

    python3 export_examples.py gpt.pt convnet.pt [autoencoder.pt] [--width W] [--layers L]

A module's forward takes the tensors of a micro-batch, whose first dimension is the sample, and
returns the samples' losses [M], float32. README.md beside this file says what it may do. Needs
PyTorch 2.x; the file runs with the libtorch of the app, whatever the version that wrote it.
"""
import argparse
import math

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Causal attention and a feed-forward layer, each after a layer norm. No dropout: random
    numbers would not follow from public seeds."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.ffn_norm = nn.LayerNorm(width)
        self.ffn_in = nn.Linear(width, 4 * width)
        self.ffn_out = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, later: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.size(0), x.size(1), x.size(2)
        split = self.qkv(self.attention_norm(x)).view(rows, length, 3, self.heads, -1)
        q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
        scores = q.matmul(k.transpose(2, 3)) / math.sqrt(width / self.heads)
        mixed = scores.masked_fill(later, -1e9).softmax(-1).matmul(v)
        x = x + self.out(mixed.transpose(1, 2).reshape(rows, length, width))
        return x + self.ffn_out(functional.gelu(self.ffn_in(self.ffn_norm(x))))


class Gpt(nn.Module):
    """Predicts each token of a window from those before it. Loss: mean cross entropy, in nats."""

    def __init__(self, vocabulary: int, length: int, width: int, layers: int, heads: int):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.register_buffer("later", torch.ones(length, length, dtype=torch.bool).triu(1))
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        rows, length = tokens.size(0), tokens.size(1) - 1
        x = self.words(tokens[:, :-1]) + self.places[:length]
        later = self.later[:length, :length]
        for block in self.blocks:
            x = block(x, later)
        logits = functional.linear(self.norm(x), self.words.weight)
        losses = functional.cross_entropy(
            logits.reshape(rows * length, -1), tokens[:, 1:].reshape(-1), reduction="none")
        return losses.view(rows, length).mean(1)


class ConvNet(nn.Module):
    """Classifies pictures, uint8 [M, C, S, S], with labels, int64 [M]. Group norm in place of
    batch norm: a sample's loss must not depend on the others, and buffers do not change."""

    def __init__(self, channels: int, width: int, classes: int):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(channels, width, 3, padding=1), nn.GroupNorm(4, width), nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.GroupNorm(4, 2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(2 * width, classes)

    def forward(self, pictures: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = pictures.to(torch.float32) / 255 - 0.5
        return functional.cross_entropy(self.head(self.trunk(x)), labels, reduction="none")


class Autoencoder(nn.Module):
    """Describes pictures, uint8 [M, 3, S, S] with S a multiple of 4, by a sixteenth of their pixels
    and draws them again. Loss: mean squared error, with channels from -0.5 to 0.5."""

    def __init__(self, width: int):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width, 4, stride=2, padding=1), nn.GELU(),
            nn.Conv2d(width, 8, 4, stride=2, padding=1))
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(8, width, 4, stride=2, padding=1), nn.GELU(),
            nn.ConvTranspose2d(width, 3, 4, stride=2, padding=1))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        x = pictures.to(torch.float32) / 255 - 0.5
        return (self.decoder(self.encoder(x)) - x).square().mean((1, 2, 3))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("gpt", help="file to write")
    options.add_argument("convnet", help="file to write")
    options.add_argument("autoencoder", nargs="?", help="file to write")
    options.add_argument("--width", type=int, default=64)
    options.add_argument("--layers", type=int, default=2)
    options.add_argument("--vocabulary", type=int, default=8_000)
    options.add_argument("--length", type=int, default=128, help="tokens of a window")
    options.add_argument("--classes", type=int, default=10)
    chosen = options.parse_args()
    torch.manual_seed(1)
    gpt = Gpt(chosen.vocabulary, chosen.length, chosen.width, chosen.layers, heads=4)
    torch.jit.script(gpt).save(chosen.gpt)
    torch.jit.script(ConvNet(3, chosen.width, chosen.classes)).save(chosen.convnet)
    if chosen.autoencoder:
        torch.jit.script(Autoencoder(chosen.width)).save(chosen.autoencoder)


if __name__ == "__main__":
    main()
