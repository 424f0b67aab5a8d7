// Result<T, E>: a value, or the reason why there is none. For failures that are normal in a swarm;
// errors of the environment are exceptions (error.hpp).
#pragma once

#include <utility>
#include <variant>

#include "peer/base/check.hpp"

namespace dedloc {

/// Wraps a reason, so that Result<T, T> is unambiguous: `return Failure{Reason::kTruncated};`
template <class E>
struct Failure {
    E reason;  ///< why there is no value
};
template <class E>
Failure(E) -> Failure<E>;

/// Either a value of type T or a reason of type E. Both constructors are implicit, for `return`.
template <class T, class E>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Failure<E> failure) : state_(std::in_place_index<1>, std::move(failure.reason)) {}

    /// True: value() may be called; false: reason() may.
    bool has_value() const { return state_.index() == 0; }
    explicit operator bool() const { return has_value(); }

    /// The value. Requires has_value() (DEDLOC_CHECK).
    const T& value() const& {
        DEDLOC_CHECK(has_value(), "value() of a result without a value");
        return std::get<0>(state_);
    }
    /// Returns by value, so that the value of a temporary result outlives it.
    T value() && {
        DEDLOC_CHECK(has_value(), "value() of a result without a value");
        return std::get<0>(std::move(state_));
    }
    const T& operator*() const& { return value(); }
    T operator*() && { return std::move(*this).value(); }
    const T* operator->() const { return &value(); }

    /// The reason. Requires !has_value() (DEDLOC_CHECK).
    const E& reason() const {
        DEDLOC_CHECK(!has_value(), "reason() of a result with a value");
        return std::get<1>(state_);
    }

  private:
    std::variant<T, E> state_;
};

}  // namespace dedloc
