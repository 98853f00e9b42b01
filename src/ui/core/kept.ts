/** Texts that the browser keeps for this page. It may refuse to store anything. */

export function kept(name: string): string {
  try {
    return localStorage.getItem(name) ?? ''
  } catch {
    return ''
  }
}

export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value)
  } catch {
    // The text is lost when the page closes.
  }
}
