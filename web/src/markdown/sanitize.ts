import DOMPurify from 'dompurify';

// What markup of a model may become. Everything not named here is dropped, scripts and styles with their content; nothing is loaded
// from anywhere: an image of another host becomes a link that a person may follow.

const TAGS = [
  'a', 'b', 'blockquote', 'br', 'code', 'dd', 'del', 'details', 'div', 'dl', 'dt', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'i', 'img', 'ins', 'kbd',
  'li', 'mark', 'ol', 'p', 'pre', 's', 'samp', 'span', 'strong', 'sub', 'summary', 'sup', 'table', 'tbody', 'td', 'tfoot', 'th', 'thead', 'tr', 'u', 'ul', 'var',
];
const ATTRIBUTES = ['align', 'alt', 'class', 'colspan', 'href', 'open', 'rowspan', 'src', 'start', 'title'];
const LINK = /^(?:https?:\/\/|mailto:)/i;
const DATA_IMAGE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[a-z0-9+/=\s]+$/i;
const CLASS = /^(?:language-[\w+#.-]{1,40}|hljs-[\w-]{1,40})$/;

const purifier = DOMPurify(window);

purifier.addHook('afterSanitizeAttributes', (node) => {
  if (node.hasAttribute('class')) {
    const kept = [...node.classList].filter((name) => CLASS.test(name));
    if (kept.length > 0) node.setAttribute('class', kept.join(' '));
    else node.removeAttribute('class');
  }
  if (node.tagName === 'A') {
    if (!LINK.test(node.getAttribute('href') ?? '')) node.removeAttribute('href');
    if (node.hasAttribute('href')) {
      node.setAttribute('target', '_blank');
      node.setAttribute('rel', 'noopener noreferrer nofollow');
    }
  } else if (node.tagName === 'IMG') {
    const source = node.getAttribute('src') ?? '';
    if (!DATA_IMAGE.test(source)) {
      node.removeAttribute('src');
      node.setAttribute('data-elsewhere', source);
    }
  } else {
    node.removeAttribute('href');
    node.removeAttribute('src');
  }
});

export function sanitize(html: string): DocumentFragment {
  const fragment = purifier.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ADD_URI_SAFE_ATTR: ['align', 'colspan', 'open', 'rowspan', 'start'],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/)/i,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const image of fragment.querySelectorAll('img[data-elsewhere]')) image.replaceWith(linkFor(image));
  for (const image of fragment.querySelectorAll('img')) image.setAttribute('loading', 'lazy');
  return fragment;
}

// The picture is not fetched by looking at the message: that would tell its host who read what, and when.
function linkFor(image: Element): Element {
  const address = image.getAttribute('data-elsewhere') ?? '';
  const name = image.getAttribute('alt')?.trim() || 'image';
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) {
    const text = document.createElement('span');
    text.className = 'image-elsewhere';
    text.textContent = `[${name}]`;
    return text;
  }
  const link = document.createElement('a');
  link.className = 'image-elsewhere';
  link.href = address;
  link.target = '_blank';
  link.rel = 'noopener noreferrer nofollow';
  link.title = `Opens ${address}`;
  link.textContent = `${name} (picture at ${new URL(address).host}, opens when clicked)`;
  return link;
}
