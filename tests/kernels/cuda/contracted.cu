// Kernels that must not be: this file is compiled as nobody may compile an exact kernel, with
// contraction, approximate division and root, and flushed denormals. The test of device code must
// object to them, else it would object to nothing.

extern "C" __global__ void contracted(float* x, double* y) {
    const unsigned i = threadIdx.x;
    x[i] = x[i] * x[i + 1] + x[i + 2];
    y[i] = y[i] * y[i + 1] + y[i + 2];
}

/// Intrinsics that no flag can contract: machine code as that of an exact kernel.
extern "C" __global__ void apart(float* x) {
    const unsigned i = threadIdx.x;
    x[i] = __fadd_rn(__fmul_rn(x[i], x[i + 1]), x[i + 2]);
}

extern "C" __global__ void divided(float* x) {
    const unsigned i = threadIdx.x;
    x[i] = x[i] / x[i + 1];
}

extern "C" __global__ void rooted(float* x) {
    const unsigned i = threadIdx.x;
    x[i] = sqrtf(x[i]);
}

/// An array that no registers can hold: its index is known only on the device.
extern "C" __global__ void in_local_memory(float* x) {
    float local[64];
    for (unsigned i = 0; i < 64; ++i) local[i] = x[i];
    for (unsigned i = 0; i < 64; ++i) local[static_cast<unsigned>(x[i]) % 64] += x[64 + i];
    for (unsigned i = 0; i < 64; ++i) x[i] = local[63 - i];
}
