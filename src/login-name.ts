/**
 * The form in which login names are compared: ASCII letters without case, and everything else as it was typed. Whoever
 * folds or normalises more makes one name of two: U+212A, the sign of Kelvin, becomes a k, and is somebody else's.
 */
export function comparedName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** Without the domain before a name, and without the realm behind it: CORP\\alice, alice@corp.example and alice may be one. */
export function bareName(name: string): string {
  return comparedName(name.slice(name.lastIndexOf('\\') + 1).replace(/@.*$/s, ''))
}
