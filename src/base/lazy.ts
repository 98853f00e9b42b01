/** What takes a while to make, and is made when somebody asks for it for the first time. */
export function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}
