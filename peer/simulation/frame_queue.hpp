// Frames in order. Empty ones own no memory: a thousand peers have a million links, and almost all
// of them are idle.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "peer/base/bytes.hpp"

namespace dedloc::simulation {

class FrameQueue {
  public:
    bool is_empty() const { return head_ == frames_.size(); }
    const SharedBytes& front() const { return frames_[head_]; }
    void push(SharedBytes frame) { frames_.push_back(std::move(frame)); }
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
    void pop_back() {
        frames_.pop_back();
        if (is_empty()) clear();
    }
    void clear() {
        std::vector<SharedBytes>{}.swap(frames_);
        head_ = 0;
    }

  private:
    std::vector<SharedBytes> frames_;
    std::size_t head_ = 0;
};

}  // namespace dedloc::simulation
