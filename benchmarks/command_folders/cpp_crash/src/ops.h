#pragma once
#include "tensor.h"

class Op {
 public:
  virtual ~Op() = default;
  virtual void run(Tensor& tensor) const = 0;
};

class Registry {
 public:
  static Registry& instance();
  void add(const char* name, const Op* op);
  const Op* find(const char* name) const;

 private:
  static constexpr int kMost = 16;
  const char* names_[kMost] = {};
  const Op* ops_[kMost] = {};
  int count_ = 0;
};

void register_all();
