/**
 * What the API answers about a session that is read.
 *
 * @typedef {object} Outline
 * @property {any} session
 * @property {string | null} resume_command
 * @property {Unit[]} units
 * @property {[unit: number, tokens: number][]} context
 * @property {{ unit: number | null, subagent: string | null, entry: string | null } | null} position
 *
 * @typedef {object} Unit
 * @property {number} number
 * @property {string} chat_id
 * @property {string} title
 * @property {string | null} started_at
 * @property {string | null} ended_at
 * @property {string} stop_reason
 * @property {boolean} rewound
 * @property {number} entries
 * @property {number} messages
 * @property {number} pages
 * @property {number} tool_calls
 * @property {number} failed_calls
 * @property {number} compactions
 * @property {number} subagents
 * @property {number | null} cost_usd
 *
 * @typedef {object} MessagePage
 * @property {number} pages
 * @property {number} total
 * @property {Message[]} messages
 * @property {Subagent[]} subagents Those that no call has started.
 *
 * @typedef {object} Message
 * @property {string} id
 * @property {"user" | "assistant" | "tool" | "error" | "event"} speaker
 * @property {string | null} at
 * @property {boolean} has_secrets
 * @property {string} [kind]
 * @property {string} [text]
 * @property {string} [html]
 * @property {string | null} [origin]
 * @property {boolean} [is_cut]
 * @property {number} [images]
 * @property {string | null} [model]
 * @property {string} [thinking]
 * @property {Call[]} [calls]
 * @property {string} [tool]
 *
 * @typedef {object} Call
 * @property {string} id
 * @property {string | null} result_id
 * @property {string} tool
 * @property {string} label
 * @property {"ok" | "failed" | "unanswered"} outcome
 * @property {number | null} duration_ms
 * @property {Edit[]} edits
 * @property {{ name: string, text: string, html: string, is_cut: boolean }[]} arguments
 * @property {string} html
 * @property {string} text
 * @property {boolean} is_cut
 * @property {number} lines
 * @property {number} images
 * @property {Subagent[]} subagents
 *
 * @typedef {object} Edit
 * @property {string} path
 * @property {string} diffstat
 * @property {import("../ui/diff.js").DiffLine[]} lines
 * @property {number} hidden_lines
 *
 * @typedef {object} Subagent
 * @property {string} id
 * @property {string} type
 * @property {string} title
 * @property {string | null} model
 * @property {string} status
 * @property {string | null} started_at
 * @property {string | null} ended_at
 * @property {number} tool_calls
 *
 * @typedef {object} Place Where messages are: in a unit of a session, or in a subagent.
 * @property {string} session
 * @property {number} unit
 * @property {string} subagent
 */

export {};
