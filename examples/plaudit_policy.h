/* Runs a policy of Plaudit on a microcontroller: C99, no memory is allocated, no library but math.h.
 *
 * policy_to_c.py turns a policy document into the constant arrays that this header reads. The kinds
 * uniform, markov and grid are supported; docs/policy.md describes them. Actions are the server's,
 * to the last bit, where double has 64 bits.
 */
#ifndef PLAUDIT_POLICY_H
#define PLAUDIT_POLICY_H

#include <math.h>
#include <stdint.h>

typedef enum { PLAUDIT_UNIFORM, PLAUDIT_MARKOV, PLAUDIT_GRID } plaudit_kind;

typedef struct {
  plaudit_kind kind;
  uint64_t seed;
  uint64_t episode_number; /* of the first episode; count on from it */
  int32_t horizon, states, actions;
  const uint8_t *choices;  /* markov: [horizon][states]; grid: one flat list */
  const int32_t *low, *high, *offsets; /* grid: [horizon][states] */
  const double *weights;   /* grid: [horizon][states][actions] */
  double delta;            /* grid */
  int64_t clip[2];         /* grid */
} plaudit_policy;

/* One round of splitmix64. */
static inline uint64_t plaudit_mix(uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* The number in [0, 1) of a step of an episode. */
static inline double plaudit_random(uint64_t seed, uint64_t episode, uint64_t step) {
  uint64_t bits = plaudit_mix(plaudit_mix(plaudit_mix(seed) ^ episode) ^ step);
  return (double)(bits >> 11) * (1.0 / 9007199254740992.0);
}

static inline int64_t plaudit_hold(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

/* The action in a state. `memory` belongs to the episode: set it to 0 when the episode begins.
 * Returns -1 for a step or a state that the policy does not have. */
static inline int32_t plaudit_act(const plaudit_policy *policy, uint64_t episode, int32_t step,
                                  int32_t state, int64_t *memory) {
  if (step < 0 || step >= policy->horizon || state < 0 || state >= policy->states) return -1;
  double u = plaudit_random(policy->seed, episode, (uint64_t)step);
  if (policy->kind == PLAUDIT_UNIFORM) return (int32_t)floor(u * policy->actions);
  int64_t cell = (int64_t)step * policy->states + state;
  if (policy->kind == PLAUDIT_MARKOV) return policy->choices[cell];
  int64_t low = policy->low[cell], held = plaudit_hold(*memory, low, policy->high[cell]);
  int32_t action = policy->choices[policy->offsets[cell] + held - low];
  double grown = policy->weights[cell * policy->actions + action] / policy->delta;
  grown = grown < -1e9 ? -1e9 : grown > 1e9 ? 1e9 : grown;
  double whole = floor(grown);
  *memory = plaudit_hold(*memory + (int64_t)whole + (u < grown - whole), policy->clip[0],
                         policy->clip[1]);
  return action;
}

#endif
