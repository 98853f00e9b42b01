import type { SampledObject } from './data-set.ts'

/** Returns the labels of an object in Prometheus and VictoriaMetrics. */
export function labelsOf({ name, kind, group }: SampledObject) {
  return { object: name, ...(kind === 'server' ? { backend: group } : {}) }
}

/** Returns a selector for all metrics of one object, or of the fifty servers. */
export function selectorOf(objects: readonly SampledObject[]): string {
  const [first] = objects
  return objects.length > 1 ? '{backend="a"}' : `{object="${first?.name}"}`
}
