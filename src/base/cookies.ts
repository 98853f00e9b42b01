/** Returns the value of one cookie in a `Cookie` header; '' if it is absent. */
export function cookieValue(header: string, wanted: string): string {
  for (const part of header.split(';')) {
    const [name, value = ''] = part.trim().split('=', 2)
    if (name === wanted) return value
  }
  return ''
}
