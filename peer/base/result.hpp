// Result<T, E>: a value or the reason why there is none, for what is expected to go wrong in a
// swarm.
#pragma once

#include <utility>
#include <variant>

#include "peer/base/check.hpp"

namespace dedloc {

/// Wraps a reason so that Result<T, T> stays unambiguous: `return Failure{Reason::kTruncated};`
template <class E>
struct Failure {
    E reason;
};
template <class E>
Failure(E) -> Failure<E>;

template <class T, class E>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Failure<E> failure) : state_(std::in_place_index<1>, std::move(failure.reason)) {}

    bool has_value() const { return state_.index() == 0; }
    explicit operator bool() const { return has_value(); }

    /// Requires has_value().
    const T& value() const& {
        DEDLOC_CHECK(has_value(), "value() of a failed result");
        return std::get<0>(state_);
    }
    /// By value: what is taken out of a temporary outlives it.
    T value() && {
        DEDLOC_CHECK(has_value(), "value() of a failed result");
        return std::get<0>(std::move(state_));
    }
    const T& operator*() const& { return value(); }
    T operator*() && { return std::move(*this).value(); }
    const T* operator->() const { return &value(); }

    /// Requires !has_value().
    const E& reason() const {
        DEDLOC_CHECK(!has_value(), "reason() of a good result");
        return std::get<1>(state_);
    }

  private:
    std::variant<T, E> state_;
};

}  // namespace dedloc
