// Device kernels compared with a copy within the device. Each is first verified against the host's
// bits, then measured in turn with the copy, by events, with a cold second-level cache: a buffer
// larger than any such cache is written before every repeat. The median of all repeats counts.
// Prints `skipped` without a GPU; fails only if a kernel gives other bits.
//
// Optimizers update the tensors of ALBERT-large in one call.
//
//     kernels_cuda_bench [elements...]     default: ALBERT-large's 17,847,490, and 268,435,456,
//                                          which is 1 GiB a vector, halved until all vectors fit
//                                          into the device
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cuda/error.hpp"
#include "kernels/cuda/finite.hpp"
#include "kernels/cuda/global_norm.hpp"
#include "kernels/cuda/lamb.hpp"
#include "kernels/cuda/memory.hpp"
#include "kernels/cuda/sgd.hpp"
#include "kernels/cuda/unit_rows.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/lamb.hpp"
#include "kernels/lanes.hpp"
#include "kernels/sgd.hpp"
#include "kernels/thread_workers.hpp"
#include "kernels/unit_rows.hpp"
#include "peer/base/random.hpp"
#include "tests/bench/albert_large.hpp"
#include "tests/bench/lamb_scalars.hpp"
#include "tests/kernels/cuda/stopwatch.hpp"

namespace {

using namespace dedloc;
namespace cuda = kernels::cuda;
using cuda::DeviceBuffer;
using cuda::StreamView;

constexpr std::size_t kGradients = 2;
constexpr int kRepeats = 31;
/// Twice the largest second-level cache of current GPUs.
constexpr std::size_t kFlushBytes = std::size_t{256} << 20;

/// Inputs and outputs of the kernels, on the host.
struct Host {
    explicit Host(std::size_t count)
        : table(bench::albert_large(count)),
          ratios(table.tensors().size()),
          rates(table.tensors().size()),
          out(count, 0.5f),
          m(count, 0.25f),
          v(count, 1e-4f) {
        Random random{count};
        for (std::size_t k = 0; k < kGradients; ++k) {
            parts.emplace_back(count);
            for (float& x : parts.back()) x = 1e-2f * static_cast<float>(random.uniform() - 0.5);
        }
    }

    kernels::SegmentTable table;
    std::vector<double> ratios;
    std::vector<float> rates;
    std::vector<std::vector<float>> parts;
    std::vector<float> out, m, v;
    double norm = 0;
};

/// The same on the device: 20 bytes an element.
struct Device {
    Device(std::size_t size, StreamView on) : Device(size, bench::albert_large(size), on) {}
    Device(std::size_t size, const kernels::SegmentTable& table, StreamView on)
        : count(size),
          stream(on),
          segments(table.segments().size(), on),
          tensors(table.tensors().size(), on),
          end(table.end()),
          ratios(table.tensors().size(), on),
          rates(table.tensors().size(), on),
          out(size, on),
          m(size, on),
          v(size, on),
          norm(1, on),
          flag(1, on),
          workspace(std::max({cuda::lamb_workspace_bytes(all_tensors()),
                              cuda::sgd_workspace_bytes(all_tensors()),
                              cuda::norm_workspace_bytes(size)}),
                    on) {
        for (std::size_t k = 0; k < kGradients; ++k) parts.emplace_back(size, on);
        cuda::raise_flag(flag, on);
        cuda::upload(table.segments(), segments.span(), on);
        cuda::upload(table.tensors(), tensors.span(), on);
        on.wait();
    }

    cuda::DeviceTable all_tensors() const {
        return {.segments = segments, .tensors = tensors, .end = end};
    }

    void take(const Host& host) {
        for (std::size_t k = 0; k < kGradients; ++k) send(host.parts[k], parts[k]);
        send(host.out, out);
        send(host.m, m);
        send(host.v, v);
        stream.wait();
    }
    template <class T>
    void send(const std::vector<T>& from, const DeviceBuffer<T>& to) const {
        cuda::upload<T>(from, to, stream);
    }

    template <class T>
    bool equals(const std::vector<T>& host, const DeviceBuffer<T>& buffer) const {
        std::vector<T> here(host.size());
        cuda::download<T>(buffer, here, stream);
        stream.wait();
        return std::memcmp(here.data(), host.data(), here.size() * sizeof(T)) == 0;
    }
    bool equals(const Host& host) const {
        return equals(host.out, out) && equals(host.m, m) && equals(host.v, v) &&
               equals(host.ratios, ratios) && equals(host.rates, rates) &&
               equals(std::vector<double>{host.norm}, norm);
    }

    std::size_t count;
    StreamView stream;
    DeviceBuffer<kernels::TensorSegment> segments;
    DeviceBuffer<kernels::TensorSegments> tensors;
    std::uint64_t end;
    DeviceBuffer<double> ratios;
    DeviceBuffer<float> rates;
    std::vector<DeviceBuffer<float>> parts;
    DeviceBuffer<float> out, m, v;
    DeviceBuffer<double> norm;
    DeviceBuffer<std::uint32_t> flag;
    DeviceBuffer<std::byte> workspace;
};

struct Line {
    const char* name;
    double bytes_an_element;
    const char* goal;  ///< percent of the copy's byte rate
    std::function<void(const Device&)> enqueue;
    std::function<void(Host&)> on_host;  ///< the host kernel; stores a number if the kernel has one
};

Line lamb_line(const char* name, kernels::LambVariant variant) {
    const auto scalars = bench::lamb_scalars(variant);
    return {name, 40, "85",
            [scalars](const Device& d) {
                cuda::lamb({d.out, d.m, d.v, d.parts[1]}, d.all_tensors(), scalars, d.ratios,
                           d.workspace, d.stream);
            },
            [scalars](Host& h) {
                kernels::lamb({h.out, h.m, h.v, h.parts[1]}, h.table, scalars, h.ratios);
            }};
}

std::vector<Line> all_lines() {
    const kernels::SgdScalars sgd{
        .element = {.learning_rate = 1e-4f, .momentum = 0.9f, .weight_decay = 1e-6f},
        .trust = 0.001,
        .epsilon = 1e-8};
    std::vector<Line> lines{
        {"global_norm", 4, "90",
         [](const Device& d) { cuda::global_norm(d.parts[0], d.norm, d.workspace, d.stream); },
         [](Host& h) { h.norm = kernels::global_norm(h.parts[0]); }},
        {"check_finite", 4, "90",
         [](const Device& d) { cuda::check_finite(d.parts[1], d.flag, d.stream); }, [](Host&) {}},
    };
    lines.push_back(lamb_line("lamb A", kernels::LambVariant::kStepDebiased));
    lines.push_back(lamb_line("lamb B", kernels::LambVariant::kMomentsDebiased));
    lines.push_back({"sgd with LARC", 28, "85",
                     [sgd](const Device& d) {
                         cuda::sgd({d.out, d.m, d.parts[1]}, d.all_tensors(), sgd, d.rates,
                                   d.workspace, d.stream);
                     },
                     [sgd](Host& h) {
                         kernels::sgd({h.out, h.m, h.parts[1]}, h.table, sgd, h.rates);
                     }});
    lines.push_back(
        {"unit_rows, the tensors", 12, "85",
         [](const Device& d) { cuda::unit_rows(d.out, d.all_tensors(), d.workspace, d.stream); },
         [](Host& h) { kernels::unit_rows(h.out, h.table); }});
    return lines;
}

/// Whether each kernel's results are those of the host kernel.
void verify(const std::vector<Line>& lines, StreamView stream) {
    Host host{1'000'003};
    Device device{1'000'003, stream};
    device.take(host);
    device.send(std::vector<double>{0}, device.norm);
    device.send(host.ratios, device.ratios);
    device.send(host.rates, device.rates);
    for (const Line& line : lines) {
        line.enqueue(device);
        line.on_host(host);
        if (device.equals(host)) continue;
        std::fprintf(stderr, "kernels_cuda_bench: %s gives other bits than the host\n", line.name);
        std::exit(1);
    }
}

class Clock {
  public:
    explicit Clock(StreamView stream) : stream_(stream), flushed_(kFlushBytes, stream) {}

    /// The median of many runs with a cold cache, in milliseconds.
    template <class Enqueue>
    double median(const Enqueue& enqueue) const {
        std::vector<double> times;
        for (int i = 0; i < kRepeats; ++i) {
            cuda::clear_bytes(flushed_, stream_);
            stopwatch_.start(stream_);
            enqueue();
            stopwatch_.stop(stream_);
            times.push_back(double{stopwatch_.milliseconds()});
        }
        std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
        return times[kRepeats / 2];
    }

  private:
    StreamView stream_;
    DeviceBuffer<std::byte> flushed_;
    tests::Stopwatch stopwatch_;
};

/// Plausible content: a million random elements, repeated.
void fill(const Device& device, std::size_t count, StreamView stream) {
    const Host sample{std::min<std::size_t>(count, 1'000'000)};
    for (std::size_t first = 0; first < count; first += sample.out.size()) {
        const std::size_t here = std::min(sample.out.size(), count - first);
        for (const auto& part : device.parts) {
            cuda::upload<float>(std::span{sample.parts[0]}.first(here),
                                {part.span().data() + first, here}, stream);
        }
        cuda::upload<float>(std::span{sample.v}.first(here), {device.v.span().data() + first, here},
                            stream);
    }
    for (const auto* const filled : {&device.out, &device.m}) {
        cuda::copy_bytes(std::as_bytes(device.parts[0].span().addresses()),
                         std::as_writable_bytes(filled->span().addresses()), stream);
    }
    stream.wait();
}

void measure(std::size_t count, const std::vector<Line>& lines, StreamView stream) {
    const Clock clock{stream};
    const Device device{count, stream};
    fill(device, count, stream);
    const auto copy = [&] {
        cuda::copy_bytes(std::as_bytes(device.parts[0].span().addresses()),
                         std::as_writable_bytes(device.parts[1].span().addresses()), stream);
    };
    std::printf("\n%zu elements, bits verified, cold cache, median of %d\n", count, kRepeats);
    std::printf("%-20s %7s %9s %8s %7s %6s\n", "kernel", "B/elem", "ms", "GB/s", "/copy", "goal");
    for (const Line& line : lines) {
        const double copied = 8 / clock.median(copy);
        const double time = clock.median([&] { line.enqueue(device); });
        const double rate = line.bytes_an_element / time;
        const double to_gigabytes = static_cast<double>(count) / 1e6;
        std::printf("%-20s %7.2f %9.4f %8.1f %6.0f%% %6s\n", line.name, line.bytes_an_element, time,
                    rate * to_gigabytes, 100 * rate / copied, line.goal);
    }
    const double time = clock.median(copy);
    std::printf("%-20s %7.2f %9.4f %8.1f\n", "copy in the device", 8.0, time,
                8 * static_cast<double>(count) / 1e6 / time);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::size_t> counts{bench::kAlbertLargeElements, std::size_t{1} << 28};
    if (argc > 1) counts.clear();
    for (int i = 1; i < argc; ++i) {
        char* end = nullptr;
        counts.push_back(std::strtoull(argv[i], &end, 10));
        if (*end != '\0' || counts.back() == 0 || counts.back() > kernels::kMaxElements) {
            std::fprintf(stderr, "usage: kernels_cuda_bench [elements...]\n");
            return 2;
        }
    }
    if (tests::device_count() == 0) {
        std::puts("skipped: this machine has no GPU that CUDA can use");
        return 0;
    }
    try {
        const cuda::Stream stream;
        const auto lines = all_lines();
        verify(lines, stream);
        for (std::size_t count : counts) {
            for (bool fits = false; !fits; count = (count + 1) / 2) {
                try {
                    measure(count, lines, stream);
                    fits = true;
                } catch (const cuda::CudaOutOfMemory&) {
                    std::printf("\n%zu elements do not fit into this device\n", count);
                    if (count == 1) return 1;
                }
            }
        }
    } catch (const cuda::CudaError& error) {
        std::fprintf(stderr, "kernels_cuda_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
