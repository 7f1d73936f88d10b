#!/bin/sh
g++ a.cpp&&./a.out
