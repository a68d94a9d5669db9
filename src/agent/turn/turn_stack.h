#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace chela::agent::turn {

// What is visible of a sequence of turns that are undone, redone and cleared. T stands for a turn.
template <class T>
class TurnStack {
 public:
  // A new turn: what was undone cannot come back.
  void push(T turn) {
    undone_.clear();
    visible_.push_back(std::move(turn));
  }
  void undo() {
    if (visible_.empty()) return;
    undone_.push_back(std::move(visible_.back()));
    visible_.pop_back();
  }
  void redo() {
    if (undone_.empty()) return;
    visible_.push_back(std::move(undone_.back()));
    undone_.pop_back();
  }
  void clear() {
    visible_.clear();
    undone_.clear();
  }

  bool empty() const { return visible_.empty(); }
  T& back() { return visible_.back(); }
  const std::vector<T>& visible() const { return visible_; }
  std::vector<T> take() { return std::move(visible_); }

 private:
  std::vector<T> visible_;
  std::vector<T> undone_;  // the next to come back last
};

}  // namespace chela::agent::turn
