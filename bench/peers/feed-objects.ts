export interface FedObject {
  readonly index: number
  readonly name: string
  readonly busy: number
}

/** Returns the reference mix at any size. */
export function feedObjects(count: number): readonly FedObject[] {
  return Array.from({ length: count }, (_, index) => ({
    index,
    name: `o${index}`,
    busy: index % 50 === 0 ? 1_000 : index % 2 === 0 ? 20 : 0,
  }))
}
