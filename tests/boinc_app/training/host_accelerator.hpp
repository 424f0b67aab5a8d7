// A GPU simulated in host memory. Staging buffers hold garbage until a copy has been waited for;
// using one whose copy has not been waited for is counted, and so is memory in use.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "boinc_app/training/accelerator.hpp"
#include "boinc_app/training/device_error.hpp"
#include "kernels/finite.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/unit_rows.hpp"

namespace dedloc::test {

/// What a simulated GPU has done; outlives it.
struct GpuRecord {
    std::size_t held = 0;                    ///< bytes of its memory in use
    std::size_t max_held = 0;                ///< the maximum of that
    std::size_t capacity = ~std::size_t{0};  ///< bytes that it has
    unsigned misuses = 0;                    ///< staging buffers used while a copy was under way
    unsigned trims = 0;                      ///< calls of trim()
    unsigned attached = 0;                   ///< calls of attach()
    unsigned tables = 0;                     ///< calls of set_tensors()
    bool is_lost = false;                    ///< every call fails
};

class HostAccelerator final : public training::Accelerator {
  public:
    explicit HostAccelerator(GpuRecord& record) : record_(record) {
        for (auto& buffer : staging_) buffer.assign(kStagingBytes, kGarbage);
    }

    void attach() override { ++record_.attached; }
    training::Computation computation() override { return {}; }
    training::GpuProperties properties() override { return {}; }

    std::unique_ptr<training::DeviceMemory> allocate(std::size_t bytes) override {
        check();
        if (bytes > record_.capacity - record_.held) {
            throw training::DeviceError{training::DeviceFailure::kOutOfMemory,
                                        "the GPU has too little free memory"};
        }
        return std::make_unique<Memory>(bytes, record_);
    }
    void trim() override { ++record_.trims; }
    void clear(std::span<std::byte> memory) override {
        check();
        std::memset(memory.data(), 0, memory.size());
    }

    std::span<std::byte> staging(std::size_t which) override {
        if (is_copying_.at(which)) ++record_.misuses;
        return staging_.at(which);
    }
    void upload(std::size_t which, std::span<std::byte> to) override {
        begin(which);
        std::memcpy(to.data(), staging_[which].data(), to.size());
        // A copy that reads the buffer later would find this.
        staging_[which].assign(kStagingBytes, kGarbage);
    }
    void download(std::span<const std::byte> from, std::size_t which) override {
        // Copies of one stream run in order, so one may follow an upload from the same buffer.
        begin(which);
        arriving_[which].assign(from.begin(), from.end());
        staging_[which].assign(kStagingBytes, kGarbage);
    }
    void wait(std::size_t which) override {
        check();
        is_copying_.at(which) = false;
        std::copy(arriving_[which].begin(), arriving_[which].end(), staging_[which].begin());
        arriving_[which].clear();
    }

    bool all_finite(std::span<const float> values) override {
        check();
        return kernels::all_finite(values);
    }
    double global_norm(std::span<const float> values) override {
        check();
        return kernels::global_norm(values);
    }
    void set_tensors(const kernels::SegmentTable& tensors,
                     const kernels::SegmentTable& unit_rows) override {
        check();
        ++record_.tables;
        table_.emplace(tensors);
        unit_rows_.emplace(unit_rows);
    }
    void update(const kernels::LambVectors& vectors, const kernels::LambScalars& scalars) override {
        check();
        kernels::lamb(vectors, table_.value(), scalars, {});
        kernels::unit_rows(vectors.parameters, unit_rows_.value());
    }
    void update(const kernels::SgdVectors& vectors, const kernels::SgdScalars& scalars) override {
        check();
        kernels::sgd(vectors, table_.value(), scalars, {});
        kernels::unit_rows(vectors.parameters, unit_rows_.value());
    }

  private:
    static constexpr std::byte kGarbage{0x5a};

    class Memory final : public training::DeviceMemory {
      public:
        Memory(std::size_t bytes, GpuRecord& record)
            : words_((bytes + sizeof(Word) - 1) / sizeof(Word)), bytes_(bytes), record_(record) {
            std::memset(words_.data(), 0x5a, words_.size() * sizeof(Word));
            record.held += bytes;
            record.max_held = std::max(record.max_held, record.held);
        }
        ~Memory() override { record_.held -= bytes_; }
        std::byte* data() const override {
            return static_cast<std::byte*>(static_cast<void*>(words_.data()));
        }

      private:
        struct alignas(256) Word {
            std::byte bytes[256];
        };
        mutable std::vector<Word> words_;
        const std::size_t bytes_;
        GpuRecord& record_;
    };

    void check() const {
        if (!record_.is_lost) return;
        throw training::DeviceError{training::DeviceFailure::kLost, "the GPU has failed"};
    }
    void begin(std::size_t which) {
        check();
        is_copying_.at(which) = true;
    }

    GpuRecord& record_;
    std::array<std::vector<std::byte>, kStagingBuffers> staging_;
    std::array<std::vector<std::byte>, kStagingBuffers> arriving_;
    std::array<bool, kStagingBuffers> is_copying_{};
    std::optional<kernels::SegmentTable> table_, unit_rows_;
};

}  // namespace dedloc::test
