import type { NamedBackend, NamedObject, ObjectNames } from '../../../src/stats/names.ts'

export function namesOf(
  frontends: readonly NamedObject[],
  backends: readonly NamedBackend[],
  otherRips: readonly string[] = [],
) {
  return {
    version: 1,
    frontends: () => frontends,
    backends: () => backends,
    frontend: (id: string) => frontends.find((frontend) => frontend.id === id),
    backend: (id: string) => backends.find((backend) => backend.id === id),
    backendsOfRip: (ripId: string) => {
      const holders = backends.filter((backend) => backend.reals.some((real) => real.ripId === ripId))
      return holders.length > 0 || otherRips.includes(ripId) ? holders : undefined
    },
  } satisfies ObjectNames
}
