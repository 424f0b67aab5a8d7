// A device simulated on the host, for tests. Bodies run one thread after the other; the blocks of a
// launch and the threads of every phase come in a random order; `Shared` and `Local` begin with
// garbage, as on a device. Results must not depend on any of that.
#pragma once

#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/cuda/body.hpp"

/// The stream type where there is no CUDA runtime: a random number generator for the order.
struct CUstream_st {
    std::uint64_t state = 0;

    /// A random number from 0 to below − 1; splitmix64.
    std::size_t next(std::size_t below) {
        state += 0x9e3779b97f4a7c15u;
        std::uint64_t x = state;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        return static_cast<std::size_t>((x ^ (x >> 31)) % below);
    }
    /// Permutes the numbers at random.
    void shuffle(std::vector<std::size_t>& order) {
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[next(i)]);
    }
};

namespace dedloc::kernels::cuda {

/// Runs the blocks, and the threads of each phase of a block, one after the other in random order.
/// Returns 0, as a launch without an error does.
template <class Body>
int launch(const Body& body, CUstream_st* stream) {
    std::vector<std::size_t> blocks(body.blocks());
    std::iota(blocks.begin(), blocks.end(), std::size_t{0});
    stream->shuffle(blocks);
    std::vector<std::size_t> threads(kThreads);
    std::iota(threads.begin(), threads.end(), std::size_t{0});
    typename Body::Shared shared;
    std::vector<typename Body::Local> locals(kThreads);
    for (const std::size_t block : blocks) {
        std::memset(&shared, 0xff, sizeof(shared));
        std::memset(locals.data(), 0xff, kThreads * sizeof(locals[0]));
        for (unsigned phase = 0; phase < phases_of(body); ++phase) {
            stream->shuffle(threads);
            for (const std::size_t i : threads) {
                const auto thread = static_cast<unsigned>(i);
                if (phase == 0) {
                    body.begin(block, thread, shared, locals[i]);
                } else {
                    body.resume(phase, block, thread, shared, locals[i]);
                }
            }
        }
    }
    return 0;
}

}  // namespace dedloc::kernels::cuda
