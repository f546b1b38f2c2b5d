// The belief map: words for the square under the pointer, and a slider over policy versions.

class BeliefMap {
  constructor(box) {
    this.box = box;
    this.squares = [...box.querySelectorAll(".square")];
    this.words = document.getElementById("belief-words");
    this.current = this.squares.map((square) => this.#read(square));
    this.known = new Map();
    const tell = (event) => {
      const square = event.target.closest(".square") ?? event.target.querySelector?.(".square");
      if (square) this.words.textContent = square.querySelector("title").textContent;
    };
    box.addEventListener("pointerover", tell);
    box.addEventListener("focusin", tell);
    this.#slide(document.getElementById("policy-slider"));
  }

  #read(square) {
    const [, chance] = square.querySelectorAll("rect");
    return [
      chance.getAttribute("fill-opacity"),
      chance.getAttribute("opacity"),
      square.querySelector("text").textContent,
      square.querySelector("title").textContent,
    ];
  }

  #slide(slider) {
    if (!slider) return;
    const input = slider.querySelector("input");
    const output = slider.querySelector("output");
    const versions = JSON.parse(slider.dataset.versions);
    slider.hidden = false;
    input.addEventListener("input", async () => {
      const place = Number(input.value);
      const chosen = versions[place];
      document.getElementById("believes").toggleAttribute("data-held", chosen !== undefined);
      const words = chosen ? `after ${chosen[1]} ${chosen[1] === 1 ? "label" : "labels"}` : "now";
      output.textContent = words;
      input.setAttribute("aria-valuetext", words);
      try {
        const squares = chosen ? await this.#version(chosen[0]) : this.current;
        if (Number(input.value) === place) this.#draw(squares);
      } catch {
        output.textContent = "could not be read";
      }
    });
  }

  async #version(version) {
    if (!this.known.has(version)) {
      const answer = await fetch(`${this.box.dataset.maps}?version=${version}`);
      if (!answer.ok) throw new Error(`HTTP status ${answer.status}`);
      this.known.set(version, (await answer.json()).squares);
    }
    return this.known.get(version);
  }

  #draw(squares) {
    this.squares.forEach((square, i) => {
      if (!squares[i]) return;
      const [strength, opacity, sign, words] = squares[i];
      const [, chance] = square.querySelectorAll("rect");
      const text = square.querySelector("text");
      chance.setAttribute("fill-opacity", strength);
      chance.setAttribute("opacity", opacity);
      text.setAttribute("opacity", opacity);
      text.textContent = sign;
      text.classList.toggle("strong", strength * opacity > 0.75);
      square.querySelector("title").textContent = words;
      square.closest("a")?.setAttribute("aria-label", words);
    });
  }
}

export function startMap() {
  const box = document.getElementById("belief-map");
  if (box) new BeliefMap(box);
}
