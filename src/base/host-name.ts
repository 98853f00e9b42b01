import { isIP } from 'node:net'

const LABEL = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/
const NAME_LENGTH_MAX = 253

/**
 * Returns whether the text consists of letters, digits and inner hyphens between dots. Texts that look like an IPv4
 * address are refused, so that a mistyped address is noticed.
 */
export function isHostName(text: string): boolean {
  if (text.length > NAME_LENGTH_MAX || /^[\d.]+$/.test(text)) return false
  return text.split('.').every((label) => LABEL.test(label))
}

/**
 * Returns whether the text is a host name, or an address without a zone such as %eth0, which is meaningful on one
 * machine only.
 */
export function isHost(text: string): boolean {
  return isHostName(text) || (isIP(text) !== 0 && !text.includes('%'))
}
