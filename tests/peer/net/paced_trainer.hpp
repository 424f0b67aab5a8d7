// A trainer for tests on real threads: real state and updates, a toy gradient (toward a target that
// depends on the trainer), and a fixed speed. With 0 samples per micro-batch it holds a state and
// computes nothing, like a backbone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/state/model_state.hpp"
#include "peer/trainer.hpp"

namespace dedloc {

class PacedTrainer final : public Trainer {
  public:
    PacedTrainer(std::uint64_t elements, float target, Samples micro_batch,
                 const state::OptimizerSettings& settings, EventSink sink)
        : target_(target),
          micro_batch_(micro_batch),
          sink_(std::move(sink)),
          state_({{.offset = 0, .count = elements, .decays = false}}, settings) {
        state_.initialise(FloatVector(elements, 1.0F));
        thread_ = std::thread([this] { run(); });
    }
    ~PacedTrainer() override {
        post([this] { is_over_ = true; });
        thread_.join();
    }

    void perform(TrainerAction action) override {
        post([this, action = std::move(action)] {
            std::visit([this](const auto& wanted) { on(wanted); }, action);
        });
    }

  private:
    void on(const action::Work& work) {
        if (work.step != state_.step() || sum_) return;
        sum_ = FloatVector(state_.element_count(), 0.0F);
        samples_ = Samples{};
        loss_sum_ = 0;
    }
    void on(const action::Overlap&) {}  // waits for the next state
    void on(const action::Freeze& freeze) {
        Contribution contribution;
        if (sum_ && freeze.step == state_.step() && samples_.value() > 0) {
            contribution = {samples_, loss_sum_, true,
                            std::make_shared<const FloatVector>(std::move(*sum_))};
        }
        sum_.reset();
        sink_(event::ContributionFrozen{freeze.step, std::move(contribution)});
    }
    void on(const action::Apply& apply) {
        DEDLOC_CHECK(apply.step == state_.step(), "the update is for another state",
                     apply.step.value());
        sum_.reset();
        state_.apply(*apply.average, apply.scalars);
        reached();
    }
    void on(const action::TakeSnapshot&) {
        const auto bytes = state_.bytes();
        sink_(event::SnapshotTaken{
            state_.step(), state_.digest(),
            stable_bytes(std::make_shared<const Buffer>(bytes.begin(), bytes.end())),
            state_.leaf_digests()});
    }
    void on(const action::Load& load) {
        sum_.reset();
        if (state_.restore(load.step, *load.bytes, load.digest)) return reached();
        sink_(event::StateRefused{load.step});
    }
    void on(const action::Pause&) { sum_.reset(); }
    void on(const action::Mix&) {}  // its gradient depends on no data
    void post(std::function<void()> task) {
        {
            const std::lock_guard lock(mutex_);
            tasks_.push_back(std::move(task));
        }
        woken_.notify_one();
    }
    void run() {
        reached();
        while (!is_over_) {
            std::function<void()> task;
            {
                std::unique_lock lock(mutex_);
                const bool computes = sum_.has_value() && micro_batch_.value() > 0;
                const auto pace = computes ? std::chrono::milliseconds(2) : std::chrono::hours(1);
                if (woken_.wait_for(lock, pace, [&] { return !tasks_.empty(); })) {
                    task = std::move(tasks_.front());
                    tasks_.pop_front();
                }
            }
            if (task) {
                task();
            } else {
                add_micro_batch();
            }
        }
    }
    void reached() { sink_(event::StateReached{state_.step(), state_.digest()}); }
    void add_micro_batch() {
        if (!sum_) return;
        const auto parameters = state_.parameters();
        const auto weight = static_cast<float>(micro_batch_.value());
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            (*sum_)[i] += weight * (parameters[i] - target_);
        }
        samples_ += micro_batch_;
        loss_sum_ += static_cast<double>(weight);
        sink_(event::Progressed{state_.step(), samples_, 1000.0});
    }

    const float target_;
    const Samples micro_batch_;
    const EventSink sink_;

    std::mutex mutex_;  ///< guards tasks_
    std::condition_variable woken_;
    std::deque<std::function<void()>> tasks_;

    // Used by the training thread only.
    state::ModelState state_;
    std::optional<FloatVector> sum_;
    Samples samples_;
    double loss_sum_ = 0;
    bool is_over_ = false;
    std::thread thread_;
};

}  // namespace dedloc
