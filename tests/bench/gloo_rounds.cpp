#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <memory>

#include "peer/base/check.hpp"
#include "peer/state/average_tree.hpp"
#include "tests/bench/rank_processes.hpp"
#include "tests/peer/state/average_digest.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::bench {

Timed gloo_rounds(std::size_t ranks, std::size_t elements, std::size_t rounds, bool digested) {
    const TemporaryDirectory folder;
    return run_ranks(ranks, [&](std::size_t rank, std::size_t all) {
        gloo::rendezvous::FileStore store(folder.path().string());
        gloo::transport::tcp::attr attributes;
        attributes.hostname = "127.0.0.1";
        auto device = gloo::transport::tcp::CreateDevice(attributes);
        auto context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(rank),
                                                                   static_cast<int>(all));
        context->connectFullMesh(store, device);
        const std::vector<float> input(elements, static_cast<float>(rank + 1));
        std::vector<float> output(elements);
        std::vector<RankRound> timed;
        for (std::size_t round = 0; round < rounds; ++round) {
            gloo::AllreduceOptions options(context);
            options.setInput(const_cast<float*>(input.data()), elements);
            options.setOutput(output.data(), elements);
            options.setReduceFunction(
                [](void* out, const void* a, const void* b, std::size_t count) {
                    gloo::sum<float>(out, a, b, count);
                });
            gloo::BarrierOptions barrier(context);
            gloo::barrier(barrier);
            timed.push_back(timed_round([&] {
                gloo::allreduce(options);
                if (digested) state::average_digest(output);
            }));
            DEDLOC_CHECK(output.back() == static_cast<float>(all * (all + 1) / 2),
                         "gloo has another sum");
        }
        return timed;
    });
}

}  // namespace dedloc::bench
