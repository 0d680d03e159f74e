"""Models in files: the same after loading, and nothing but models is loaded."""

from __future__ import annotations

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import hmrf_fast
from hmrf_fast import ConstrainedKMeans, Constraints, COPKMeans, HMRFKMeans, PCKMeans, SeededKMeans, SphericalKMeans
from hmrf_fast.archive import write_archive
from hmrf_fast.errors import FileError, InputError, ModelFileError

RNG = np.random.default_rng(5)
X = sp.csr_matrix(np.where(RNG.random((60, 8)) < 0.6, RNG.random((60, 8)), 0) + np.eye(60, 8))
PAIRS = {"must_link": [(0, 1), (4, 9)], "cannot_link": [(0, 20), (3, 7)]}
LABELS = {"partial_labels": ["b", "a", None, "b", *[None] * 56]}
SHARES = np.vstack([np.tile([0.9, 0.1], (5, 1)), np.tile([np.nan, np.nan], (55, 1))])
FITS = {
    "HMRFKMeans": (HMRFKMeans(3, learn_weights=True, random_state=0), PAIRS),
    "i_divergence": (HMRFKMeans(3, metric="i_divergence", random_state=0, dtype=np.float32), PAIRS),
    "pearson": (HMRFKMeans(3, metric="pearson", random_state=0, must_link_weight=np.inf), PAIRS),
    "mahalanobis": (HMRFKMeans(2, metric="mahalanobis", random_state=0), PAIRS),
    "diagonal": (HMRFKMeans(2, metric="mahalanobis_diagonal", random_state=0), PAIRS),
    "init": (HMRFKMeans(2, metric="sqeuclidean", init=X[:2].toarray()), PAIRS),
    "PCKMeans": (PCKMeans(3, random_state=0), PAIRS),
    "COPKMeans": (COPKMeans(3, random_state=0), PAIRS),
    "SeededKMeans": (SeededKMeans(3, random_state=0), LABELS),
    "ConstrainedKMeans": (ConstrainedKMeans(3, random_state=0), LABELS),
    "shares": (ConstrainedKMeans(3, random_state=0), {"partial_labels": SHARES}),
    "SphericalKMeans": (SphericalKMeans(3, random_state=0), {}),
}


def fitted(name="HMRFKMeans"):
    model, known = FITS[name]
    return model.fit(X, **known)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.npz"
    fitted().save(path)
    return path


@pytest.mark.parametrize("name", FITS)
def test_a_loaded_model_is_the_same(name, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "model.npz")
    loaded = hmrf_fast.load(tmp_path / "model.npz")
    assert type(loaded) is type(model)
    assert repr(loaded.get_params()) == repr(model.get_params())
    for result in ("predict", "transform"):
        np.testing.assert_array_equal(getattr(loaded, result)(X), getattr(model, result)(X))
    assert loaded.score(X) == model.score(X)
    names = {key for key in vars(model) if key != "_training"}
    assert names | {"_training"} == set(vars(loaded))
    for key in sorted(names):
        # A pickle of the attribute says that value, type and shape are the same, whatever it is.
        assert pickle.dumps(plain(getattr(loaded, key))) == pickle.dumps(plain(getattr(model, key))), key
    assert str(loaded.constraint_report_) == str(model.constraint_report_)
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def plain(value):
    """Arrays and records as lists and numbers, floats by their digits."""
    if isinstance(value, Constraints):
        return plain(value.__getstate__())
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.tolist())
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(plain, value)]
    return repr(value) if not hasattr(value, "summary") else plain(vars(value))


def test_corrections_go_on_after_loading(saved):
    model, loaded = fitted(), hmrf_fast.load(saved)
    with pytest.raises(InputError, match="rows stayed behind"):
        loaded.merge(0, 1)
    model.merge(0, 1)
    loaded.merge(0, 1, X=X)
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    assert loaded.edits_ == model.edits_
    loaded.save(saved.with_name("merged.npz"))
    again = hmrf_fast.load(saved.with_name("merged.npz"))
    assert again.edits_ == model.edits_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_weights_groups_and_feature_names_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X.toarray(), columns=[f"f{k}" for k in range(8)])
    known = Constraints([(0, 1)], must_link_weight=2.5, cannot_link_groups=[None, 7, 7, *[None] * 57])
    model = HMRFKMeans(3, random_state=0).set_output(transform="pandas").fit(table, constraints=known)
    model.save(tmp_path / "model.npz")
    loaded = hmrf_fast.load(tmp_path / "model.npz")
    assert loaded.feature_names_in_.dtype == object
    pandas.testing.assert_frame_equal(loaded.transform(table), model.transform(table))
    assert repr(loaded.constraints_) == repr(known)
    assert loaded.constraints_.cannot_link_groups.name(0) == "7"
    assert not loaded.constraints_.must_link.flags.writeable


def test_what_is_no_data_is_left_out(tmp_path):
    model = HMRFKMeans(2, callback=lambda state: None, random_state=np.random.default_rng(0), init="k-means++").fit(X)
    model.save(tmp_path / "model.npz")
    loaded = hmrf_fast.load(tmp_path / "model.npz")
    assert loaded.callback is None and loaded.random_state is None and loaded.init == "k-means++"


def test_save_refuses(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        HMRFKMeans(2).save(tmp_path / "model.npz")

    class Mine(HMRFKMeans):
        pass

    with pytest.raises(InputError, match="Mine is no estimator of hmrf_fast"):
        Mine(2).fit(X).save(tmp_path / "model.npz")
    with pytest.raises(FileError, match="cannot be written: No such file"):
        fitted().save(tmp_path / "nowhere" / "model.npz")
    assert list(tmp_path.iterdir()) == []


def test_an_older_file_is_replaced_whole(saved, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(b"older")
    fitted().save(path)
    assert path.read_bytes() == saved.read_bytes()


def refused(path, reason, match):
    with pytest.raises(ModelFileError, match=match) as caught:
        hmrf_fast.load(path)
    assert caught.value.reason == reason


def test_foreign_files(tmp_path):
    path = tmp_path / "model.npz"
    refused(path, "unreadable", "No such file")
    for content in (b"", b"text", pickle.dumps({"a": 1})):
        path.write_bytes(content)
        refused(path, "foreign", "is no hmrf_fast model")
    np.savez(path, X=np.eye(2))
    refused(path, "foreign", "is no hmrf_fast model")
    write_archive(path, "hmrf_fast corpus", 1, {}, {})
    refused(path, "foreign", "is no hmrf_fast model")


def test_newer_files(tmp_path):
    path = tmp_path / "model.npz"
    write_archive(path, "hmrf_fast model", 2, {}, {})
    refused(path, "newer", "of version 2, this hmrf_fast knows up to 1: update hmrf_fast")
    write_archive(path, "hmrf_fast model", 1, {"estimator": "NewKMeans"}, {})
    refused(path, "newer", "holds a NewKMeans")


def test_every_changed_or_missing_byte_is_noticed(saved, tmp_path):
    content, path = saved.read_bytes(), tmp_path / "model.npz"
    original = hmrf_fast.load(saved)
    for position in np.linspace(0, len(content) - 1, 150).astype(int):
        path.write_bytes(content[:position])
        with pytest.raises(ModelFileError):
            hmrf_fast.load(path)
        path.write_bytes(content[:position] + bytes([content[position] ^ 0x55]) + content[position + 1 :])
        try:
            loaded = hmrf_fast.load(path)
        except ModelFileError:
            continue
        # Times and attributes of the container may differ; what is loaded may not.
        np.testing.assert_array_equal(loaded.transform(X), original.transform(X))


def repacked(saved, path, compression=zipfile.ZIP_STORED, **changed):
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w", compression) as new:
        for member in old.namelist():
            name = member.removesuffix(".npy")
            if changed.get(name, b"") is not None:
                new.writestr(member, changed.get(name) or old.read(member))


def packed(array, **how):
    stream = io.BytesIO()
    np.save(stream, array, **how)
    return stream.getvalue()


def test_members_that_were_changed(saved, tmp_path):
    path = tmp_path / "model.npz"
    centers = hmrf_fast.load(saved).cluster_centers_
    for changed, told in (
        ({"cluster_centers_": packed(centers + 1)}, "'cluster_centers_' is not the one"),
        ({"cluster_centers_": packed(np.array([{}]), allow_pickle=True)}, "not the size or type"),
        ({"cluster_centers_": packed(centers)[:-8]}, "not the size or type"),
        ({"labels_": None}, "other arrays"),
        ({"header": packed(np.frombuffer(b"{}", np.uint8))}, "its header does not have the checksum"),
    ):
        repacked(saved, path, **changed)
        refused(path, "damaged", told)
    repacked(saved, path, zipfile.ZIP_DEFLATED)
    refused(path, "damaged", "is compressed")


def test_a_large_shape_takes_no_memory(saved, tmp_path):
    small, large = b"(0,), }", b"(9000000000,), }"
    header = packed(np.zeros(0)).replace(small + b" " * (len(large) - len(small)), large)
    assert large in header
    repacked(saved, tmp_path / "model.npz", labels_=header)
    refused(tmp_path / "model.npz", "damaged", "not the size")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels_", np.full(60, 9, np.int32)),
        ("labels_", np.zeros(60, np.int64)),
        ("merged_into_", np.array([0, 1, -1], np.int32)),
        ("feature_weights_", np.ones(3)),
        ("cluster_centers_", np.full((3, 8), np.nan)),
        ("cluster_centers_", np.ones(8)),
        ("smoothing_", "0.5"),
        ("predict", 1),
        ("constraints_", None),
        ("constraints_", Constraints([(0, 99)])),
    ],
)
def test_states_that_do_not_fit_together(name, value, tmp_path):
    """A file with right checksums, whose content no fit could have made."""
    from hmrf_fast.persistence import save_model

    model = fitted()
    model.__dict__[name] = value
    save_model(model, tmp_path / "model.npz")
    refused(tmp_path / "model.npz", "damaged", "is damaged or was changed")


def test_only_records_of_the_library_are_built(saved, tmp_path):
    with np.load(saved) as file:
        header = json.loads(file["header"].tobytes())
        arrays = {name: file[name] for name in header["arrays"]}
    header["content"]["attributes"]["edits_"] = {"type": "Popen", "fields": {"args": "true"}}
    write_archive(tmp_path / "model.npz", "hmrf_fast model", 1, header["content"], arrays)
    refused(tmp_path / "model.npz", "damaged", "Popen")


def test_fields_of_other_versions(saved, tmp_path):
    """A later version may have more fields, an earlier one fewer: the rest keeps its meaning."""
    with np.load(saved) as file:
        header = json.loads(file["header"].tobytes())
        arrays = {name: file[name] for name in header["arrays"]}
    content = header["content"]
    content["attributes"]["_fitted"]["fields"]["later"] = 1
    del content["attributes"]["_fitted"]["fields"]["scale"]
    content["parameters"]["later"] = 1
    del content["parameters"]["e_step"]
    write_archive(tmp_path / "model.npz", "hmrf_fast model", 1, content, arrays)
    np.testing.assert_array_equal(hmrf_fast.load(tmp_path / "model.npz").transform(X), fitted().transform(X))
