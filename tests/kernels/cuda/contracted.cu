// Kernels that break the rules: this file is compiled with contraction, approximate division and
// root, and flushed denormals, which are forbidden for exact kernels. The test of device code must
// object to them, which proves that it can object at all.

extern "C" __global__ void contracted(float* x, double* y) {
    const unsigned i = threadIdx.x;
    x[i] = x[i] * x[i + 1] + x[i + 2];
    y[i] = y[i] * y[i + 1] + y[i + 2];
}

/// Intrinsics, which no flag contracts: their machine code is that of an exact kernel.
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

/// An array that cannot be kept in registers, because its index is known only on the device.
extern "C" __global__ void in_local_memory(float* x) {
    float local[64];
    for (unsigned i = 0; i < 64; ++i) local[i] = x[i];
    for (unsigned i = 0; i < 64; ++i) local[static_cast<unsigned>(x[i]) % 64] += x[64 + i];
    for (unsigned i = 0; i < 64; ++i) x[i] = local[63 - i];
}

/// Two barriers, which machine code must show on every architecture.
extern "C" __global__ void synchronized(float* x) {
    __shared__ float shared[256];
    shared[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = shared[255 - threadIdx.x];
    __syncthreads();
    shared[threadIdx.x] = x[255 - threadIdx.x];
    x[threadIdx.x] += shared[threadIdx.x];
}
