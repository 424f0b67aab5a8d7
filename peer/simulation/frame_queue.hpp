// A FIFO queue of frames. An empty queue owns no memory: a thousand peers have a million links, and
// almost all of them are idle.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "peer/base/bytes.hpp"

namespace dedloc::simulation {

/// The queue. front() and both pops require that it is not empty.
class FrameQueue {
  public:
    /// Whether it holds no frame.
    bool is_empty() const { return head_ == frames_.size(); }
    /// The oldest frame.
    const SharedBytes& front() const { return frames_[head_]; }
    /// Appends a frame.
    void push(SharedBytes frame) { frames_.push_back(std::move(frame)); }
    /// Removes and returns the oldest frame.
    SharedBytes pop() {
        SharedBytes frame = std::move(frames_[head_++]);
        if (is_empty()) {
            clear();
        } else if (head_ >= 32 && 2 * head_ >= frames_.size()) {
            frames_.erase(frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(head_));
            head_ = 0;
        }
        return frame;
    }
    /// Removes the newest frame.
    void pop_back() {
        frames_.pop_back();
        if (is_empty()) clear();
    }
    /// Removes all frames and releases the memory.
    void clear() {
        std::vector<SharedBytes>{}.swap(frames_);
        head_ = 0;
    }

  private:
    std::vector<SharedBytes> frames_;
    std::size_t head_ = 0;  ///< index of the oldest frame
};

}  // namespace dedloc::simulation
