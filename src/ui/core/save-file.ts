/** Lets the user save the file at this address. */
export function saveFile(name: string, href: string): void {
  const link = document.createElement('a')
  link.href = href
  link.download = name
  link.click()
}
