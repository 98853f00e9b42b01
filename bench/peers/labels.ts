import type { SampledObject } from './data-set.ts'

/** How Prometheus and VictoriaMetrics name an object. */
export function labelsOf({ name, kind, group }: SampledObject) {
  return { object: name, ...(kind === 'server' ? { backend: group } : {}) }
}

/** All metrics of one object, or of the fifty servers. */
export function selectorOf(objects: readonly SampledObject[]): string {
  const [first] = objects
  return objects.length > 1 ? '{backend="a"}' : `{object="${first?.name}"}`
}
